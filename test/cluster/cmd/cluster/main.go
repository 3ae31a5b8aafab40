// Command cluster is a whole Kubernetes in one binary: its first argument says which part of it to be. The parts share
// almost all of their code, so one binary compiles in a third of the time and takes a fifth of the disk.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"kube-devloop.dev/test-cluster/internal/certmanager"
)

var parts = map[string]func() error{
	"etcd":                    func() error { etcdmain.Main(os.Args); return nil },
	"kube-apiserver":          command(apiserver.NewAPIServerCommand),
	"kube-controller-manager": command(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 command(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kube-proxy":              command(proxy.NewProxyCommand),
	"kubectl":                 runKubectl,
	"cert-manager":            func() error { return certmanager.Main(os.Args[1:]) },
}

func main() {
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: cluster etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kube-proxy|kubectl|cert-manager ...")
		os.Exit(2)
	}
	os.Args = os.Args[1:] // each part reads os.Args itself
	if err := parts[os.Args[0]](); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", os.Args[0], strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}

func command(create func() *cobra.Command) func() error {
	return func() error {
		os.Exit(cli.Run(create()))
		return nil
	}
}

// runKubectl leaves errors to kubectl, which prints them as people know them and ends the process.
func runKubectl() error {
	return cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())
}
