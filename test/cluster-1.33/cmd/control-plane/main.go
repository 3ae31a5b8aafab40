// Command control-plane is the control plane of Kubernetes 1.33 in one binary: its first argument says which part of it to be.
// kube-apiserver up to 1.33 looks at Endpoints where it calls webhooks directly; later ones look at EndpointSlices.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var parts = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

func main() {
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: control-plane kube-apiserver|kube-controller-manager|kube-scheduler ...")
		os.Exit(2)
	}
	os.Args = os.Args[1:] // every part reads os.Args by itself
	os.Exit(cli.Run(parts[os.Args[0]]()))
}
