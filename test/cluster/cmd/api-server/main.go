// Command api-server is etcd and kube-apiserver alone, which compile in two thirds of the time of a whole Kubernetes.
package main

import "kube-devloop.dev/test-cluster/internal/part"

func main() { part.Run(part.APIServer) }
