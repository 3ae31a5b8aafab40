# Watching over processes, for box.sh. A daemon must never end, a task must end well; whatever breaks this ends the box,
# with the last lines of its log in $BOX/failed, where the test reads them.

declare -A daemons tasks
start_ms=$(date +%s%3N)

lap() { echo "$(($(date +%s%3N) - start_ms)) ms  $*"; }

daemon() {
  local name=$1
  shift
  "$@" > "$BOX/logs/$name.log" 2>&1 < /dev/null &
  daemons[$!]=$name
}

# Starts a daemon again that ends with this code, such as 137, when a test has killed it; any other end is its own.
again_after() {
  local expected=$1 code=0
  shift
  while true; do
    "$@" && return
    code=$?
    [ "$code" = "$expected" ] || return "$code"
  done
}

# Every task has to bound its own time.
task() {
  local name=$1
  shift
  "$@" > "$BOX/logs/$name.log" 2>&1 < /dev/null &
  tasks[$!]=$name
}

give_up() {
  { echo "$1 ended with code $2:"; tail -n 15 "$BOX/logs/$1.log"; } > "$BOX/failed.part"
  mv "$BOX/failed.part" "$BOX/failed"
  exit 1
}

# Waits for one process, whichever ends first, and judges its end.
wait_one() {
  local pid='' code=0
  wait -n -p pid || code=$?
  if [ -n "${daemons[$pid]:-}" ]; then give_up "${daemons[$pid]}" "$code"; fi
  if [ "$code" != 0 ]; then give_up "${tasks[$pid]:-box}" "$code"; fi
  lap "${tasks[$pid]} done"
  unset "tasks[$pid]"
}

await_tasks() { while [ ${#tasks[@]} -gt 0 ]; do wait_one; done; }

supervise() { while true; do wait_one; done; }
