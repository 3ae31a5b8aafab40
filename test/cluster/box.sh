#!/bin/bash
# Process 1 of a box: its own network, mounts and processes, so that killing this one process ends the whole cluster.
# Joins the network, hides the machine's directories behind empty ones, starts the cluster and watches over it.
set -eu
here=$(dirname "$(readlink -f "$0")")
source "$here/supervise.sh"
source "$here/components.sh"

join_network() {
  ip link set lo up
  # The other end belongs to the machine outside, which pushes this one in. (/sys still shows the machine's own links.)
  for _ in $(seq 200); do ! ip link show eth0 &> /dev/null || break; sleep 0.02; done
  for address in $NODE_ADDRESSES; do
    # An IPv6 address is of no use to listeners until the kernel has seen that nobody else has it, unless told not to look.
    if [[ $address == *:* ]]; then ip addr add "$address" dev eth0 nodad; else ip addr add "$address" dev eth0; fi
  done
  ip link set eth0 up
  for gateway in $GATEWAYS; do ip route add default via "$gateway"; done
}

# Two kubelets or container runtimes that share these damage each other.
hide_directories() {
  for dir in /run /var/lib/kubelet /var/lib/cni /var/log; do
    mkdir -p "$dir"
    mount -t tmpfs tmpfs "$dir"
  done
  mkdir /run/netns
}

# The kubelet insists on these values, and they are the machine's. It reads them from here and finds nothing to change.
pretend_sysctls() {
  mkdir /run/sysctls
  while read -r name value; do
    echo "$value" > "/run/sysctls/$(basename "$name")"
    mount --bind "/run/sysctls/$(basename "$name")" "/proc/sys/$name"
  done << SYSCTLS
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
SYSCTLS
}

join_network
hide_directories
pretend_sysctls
start_control_plane
[ "$CERT_MANAGER" = false ] || start_cert_manager
[ "$PODS" = false ] || start_node
supervise
