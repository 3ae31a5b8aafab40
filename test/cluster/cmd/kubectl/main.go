// Command kubectl is for machines without kubectl.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() { _ = cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()) }
