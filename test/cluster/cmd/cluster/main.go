// Command cluster is a whole Kubernetes in one binary: its first argument, or a link to it, says which part of it to be. The
// parts share almost all of their code, so one binary compiles in a third of the time and takes a fifth of the disk.
package main

import (
	"context"
	"maps"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"kube-devloop.dev/test-cluster/internal/certmanager"
	"kube-devloop.dev/test-cluster/internal/part"
)

var parts = part.Parts{
	"kube-controller-manager": part.Command(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          part.Command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 part.Command(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kube-proxy":              part.Command(proxy.NewProxyCommand),
	"kubectl":                 runKubectl,
	"cert-manager":            func() error { return certmanager.Main(os.Args[1:]) },
}

func main() {
	maps.Copy(parts, part.APIServer)
	part.Run(parts)
}

// runKubectl leaves errors to kubectl, which prints them as people know them and ends the process.
func runKubectl() error {
	return cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())
}
