package certmanager

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const establishTimeout = 30 * time.Second

// establishCRDs applies every CRD of the directory at once and waits until the server serves them.
func establishCRDs(ctx context.Context, config *rest.Config, dir string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %q", dir)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, file := range files {
		group.Go(func() error { return establish(ctx, client, file) })
	}
	return group.Wait()
}

// establish expects the file name that controller-gen gives: <group>_<plural>.yaml.
func establish(ctx context.Context, client clientset.Interface, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
	name := plural + "." + group
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	force := true
	options := metav1.PatchOptions{FieldManager: "test-cluster", Force: &force}
	if _, err := crds.Patch(ctx, name, types.ApplyYAMLPatchType, content, options); err != nil {
		return fmt.Errorf("apply %s: %w", name, err)
	}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, establishTimeout, true, func(ctx context.Context) (bool, error) {
		crd, err := crds.Get(ctx, name, metav1.GetOptions{})
		return err == nil && isEstablished(crd), err
	})
}

func isEstablished(crd *apiextensions.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensions.Established {
			return condition.Status == apiextensions.ConditionTrue
		}
	}
	return false
}
