package part

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	server "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// APIServer is all that an API server needs.
var APIServer = Parts{
	"etcd":           func() error { etcdmain.Main(os.Args); return nil },
	"kube-apiserver": Command(server.NewAPIServerCommand),
}
