# The parts of the cluster and their flags, for box.sh. Ports are free to choose: the network is the box's own.

pki=$BOX/pki
server=https://127.0.0.1:$API_PORT
ctr=(ctr --address /run/containerd.sock --namespace k8s.io)

# Collecting garbage less often takes a fifth of the processor time away, and costs memory that machines have.
export GOGC=400 GOMEMLIMIT=1GiB

start_control_plane() {
  # A test cluster has nothing to lose in a power cut.
  daemon etcd "$CLUSTER" etcd --data-dir "$BOX/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
  daemon kube-apiserver again_after 137 "$CONTROL_PLANE" kube-apiserver --etcd-servers=http://127.0.0.1:2379 \
    --bind-address="$ANY_ADDRESS" --secure-port="$API_PORT" --advertise-address="${NODE_IPS%%,*}" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
    --service-account-key-file="$pki/service-account.key" --service-account-signing-key-file="$pki/service-account.key" \
    --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range="$SERVICE_RANGES" \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
    --kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP --enable-aggregator-routing="$AGGREGATOR_ROUTING"
  [ "$PODS" = false ] || start_container_runtime
  task api-ready "$KIT" wait "$server/readyz" "$pki/ca.crt" 60s
  await_tasks
  # One identity for all controllers: a service account for each costs four seconds at the start.
  "$KIT" kubeconfig "$pki" "$pki/controller-manager.kubeconfig" 8760h system:kube-controller-manager system:masters
  daemon kube-controller-manager "$CONTROL_PLANE" kube-controller-manager --kubeconfig="$pki/controller-manager.kubeconfig" \
    --service-account-private-key-file="$pki/service-account.key" --root-ca-file="$pki/ca.crt" \
    --use-service-account-credentials=false --leader-elect=false --bind-address=127.0.0.1 --secure-port=0
}

start_cert_manager() {
  daemon cert-manager "$CLUSTER" cert-manager --kubeconfig "$pki/admin.kubeconfig" --crds "$CERT_MANAGER_CRDS"
}

start_container_runtime() {
  daemon containerd containerd --config "$BOX/containerd.toml"
  task pause-image import_image "$PAUSE_IMAGE"
}

import_image() {
  for _ in $(seq 200); do [ ! -S /run/containerd.sock ] || break; sleep 0.05; done
  timeout 30 "${ctr[@]}" images import "$1"
}

start_node() {
  daemon kubelet "$CLUSTER" kubelet --config="$BOX/kubelet.json" --kubeconfig="$pki/kubelet.kubeconfig" \
    --root-dir="$BOX/kubelet" --cert-dir="$BOX/kubelet/pki" --hostname-override=node --node-ip="$NODE_IPS"
  # It panics now and then if its node appears while it starts.
  daemon kube-proxy again_after 2 "$CLUSTER" kube-proxy --config="$BOX/kube-proxy.json"
  daemon kube-scheduler "$CONTROL_PLANE" kube-scheduler --kubeconfig="$pki/scheduler.kubeconfig" \
    --authentication-kubeconfig="$pki/scheduler.kubeconfig" --authorization-kubeconfig="$pki/scheduler.kubeconfig" \
    --leader-elect=false --bind-address=127.0.0.1 --secure-port=0
}
