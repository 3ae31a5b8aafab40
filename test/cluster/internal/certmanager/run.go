// Package certmanager runs cert-manager's controller and cainjector in one process, from its Go module alone.
// Its webhook is left out: without it, Certificates that live for seconds are accepted, and rotation can be tested.
package certmanager

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Main establishes the CRDs and runs until SIGTERM.
func Main(args []string) error {
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig of a cluster administrator")
	crds := flags.String("crds", "", "directory with cert-manager's CRDs")
	_ = flags.Parse(args) // ExitOnError
	ctrl.SetLogger(klog.Background())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	// Informers of kinds that do not exist yet back off for seconds: first the kinds, then the controllers.
	if err := establishCRDs(ctx, config, *crds); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return runControllers(ctx, *kubeconfig) })
	group.Go(func() error { return runCAInjector(ctx, config) })
	return group.Wait()
}
