// Command kit holds the small tools of the test cluster. It is its own binary because the one with Kubernetes in it
// needs a tenth of a second to start.
package main

import (
	"fmt"
	"os"
	"time"

	"kube-devloop.dev/test-cluster/internal/image"
	"kube-devloop.dev/test-cluster/internal/pki"
)

const usage = `usage:
  kit pki DIR CLUSTER-NAME NODE-IP PORT             every key, certificate and kubeconfig of a new cluster
  kit kubeconfig DIR OUT LIFETIME USER [GROUP...]   one more user, by the CA in DIR
  kit image REF BINARY OUT.tar                      a static binary as an OCI image
  kit wait URL CA-FILE TIMEOUT                      until the URL answers 200
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kit:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 5 && args[0] == "pki":
		return pki.CreateCluster(args[1], args[2], args[3], args[4])
	case len(args) >= 5 && args[0] == "kubeconfig":
		lifetime, err := time.ParseDuration(args[3])
		if err != nil {
			return err
		}
		return pki.WriteKubeconfig(args[1], args[2], pki.User{Name: args[4], Groups: args[5:], Lifetime: lifetime})
	case len(args) == 4 && args[0] == "image":
		return image.Write(args[1], args[2], args[3])
	case len(args) == 4 && args[0] == "wait":
		timeout, err := time.ParseDuration(args[3])
		if err != nil {
			return err
		}
		return waitFor(args[1], args[2], timeout)
	}
	return fmt.Errorf("wrong arguments\n%s", usage)
}
