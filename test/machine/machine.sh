#!/bin/bash
# Process 1 of the machine that one test file has to itself. It starts the file's Node, adopts what that leaves behind, and
# ends with it; then the kernel ends every other process here, boxes included, and removes the network.
set -u
ip link set lo up
# Documentation addresses: packets to these vanish without an answer. To all others there is no route.
ip route add blackhole 203.0.113.0/24

code=0
"$@" || code=$?
exit "$code"
