module kube-devloop.dev/gateway-bench

go 1.26.0
