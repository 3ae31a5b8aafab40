package certmanager

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	certmanagerscheme "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/util"
)

func runCAInjector(ctx context.Context, config *rest.Config) error {
	known, err := injectedKinds()
	if err != nil {
		return err
	}
	// The name shows in managedFields, where devloop looks for who writes a caBundle.
	config = util.RestConfigWithUserAgent(rest.CopyConfig(config), "cainjector")
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  known,
		Cache:   cache.Options{ReaderFailOnMissingInformer: true},
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Metrics: metrics.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.APIServiceName:                     true,
			cainjector.CustomResourceDefinitionName:       true,
		},
	})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

func injectedKinds() (*runtime.Scheme, error) {
	kinds := runtime.NewScheme()
	return kinds, errors.Join(
		scheme.AddToScheme(kinds),
		certmanagerscheme.AddToScheme(kinds),
		apiextensions.AddToScheme(kinds),
		apiregistration.AddToScheme(kinds),
	)
}
