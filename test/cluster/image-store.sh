#!/bin/bash
# Fills $STORE with the images of the archives in its arguments, as a container runtime keeps them. Each is kept by another name than its own, so that
# no Pod can use it before its own name is given to it. Runs in namespaces of its own, for processes and mounts.
set -eu
ctr=(ctr --address /run/containerd.sock --namespace k8s.io)

mount -t tmpfs tmpfs /run
containerd --config "$STORE/containerd.toml" > "$STORE/containerd.log" 2>&1 &
runtime=$!
for _ in $(seq 200); do [ ! -S /run/containerd.sock ] || break; sleep 0.05; done

number=0
for archive in "$@"; do
  "${ctr[@]}" images import "$archive" > /dev/null
  for name in $("${ctr[@]}" images list --quiet | grep -v '^kept.test/'); do
    kept=kept.test/$number:1
    number=$((number + 1))
    "${ctr[@]}" images tag "$name" "$kept" > /dev/null
    "${ctr[@]}" images remove "$name" > /dev/null
    printf '%s\t%s\t%s\n' "$archive" "$name" "$kept" >> "$STORE/images"
  done
done

kill "$runtime"
wait "$runtime" || true
