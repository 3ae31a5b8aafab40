module kube-devloop.dev/tunnel-bench

go 1.26.0
