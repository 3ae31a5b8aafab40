module kube-devloop.dev/relay-bench

go 1.26.0
