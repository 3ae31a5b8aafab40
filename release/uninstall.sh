#!/bin/sh
# Removes what install.sh has installed: sh uninstall.sh --help
# The braces make the shell read the whole file before it runs any of it, so a download that was cut off does nothing.
{
set -eu
# With CDPATH, cd prints.
unset CDPATH

usage() {
  cat <<'END'
Uninstall devloop.

Usage: sh uninstall.sh [--dir DIR]

  --dir DIR  where the executable is (default: ~/.local/bin)
  --help     print this text

It removes DIR/devloop and the links DIR/kubectl-devloop and DIR/kubectl_complete-devloop, and prints what stays on this
machine.
END
}

say() { printf '%s\n' "$*"; }

# fail MESSAGE NEXT_STEP
fail() {
  printf 'uninstall.sh: %s\n' "$1" >&2
  [ -z "${2-}" ] || printf '→ %s\n' "$2" >&2
  exit 1
}

# A process that has ended, and for which its parent has not waited, still takes signals.
runs() {
  kill -0 "$1" 2>/dev/null || return 1
  if [ -r "/proc/$1/stat" ]; then process=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null || :)
  else process=$(ps -o stat= -p "$1" 2>/dev/null || :)
  fi
  case $process in [ZX]*) return 1 ;; esac
}

# A session is a directory whose devloop.json names the process that runs it. It is there until the cluster is restored.
check_sessions() {
  for record in "$state"/????????/devloop.json; do
    [ -f "$record" ] || continue
    pid=$(sed -n 's/.*"pid":\([0-9][0-9]*\).*/\1/p' "$record")
    checkout=$(sed -n 's/.*"checkout":"\([^"]*\)".*/\1/p' "$record" | tr -d '[:cntrl:]')
    if [ -n "$pid" ] && runs "$pid"; then
      fail "a session of devloop is running (pid $pid, in $checkout)" "End it first: cd $(quoted "$checkout") && devloop down"
    fi
    fail "a session of devloop was not ended, so the cluster may not be restored yet (in $checkout)" \
      "Restore it first: cd $(quoted "$checkout") && devloop down. If the cluster is gone: rm -rf $(quoted "${record%/devloop.json}")"
  done
}

# absolute PATH OTHER: OTHER if the path is relative or empty, as in devloop itself.
absolute() {
  case $1 in
    /*) printf %s "$1" ;;
    *) printf %s "$2" ;;
  esac
}

quoted() {
  printf "'"
  printf %s "$1" | sed "s/'/'\\\\''/g"
  printf "'"
}

check_target() {
  [ -e "$dir/devloop" ] || [ -L "$dir/devloop" ] || fail "there is no $dir/devloop" "Say where the executable is: --dir DIR"
  [ ! -d "$dir/devloop" ] || [ -L "$dir/devloop" ] || fail "$dir/devloop is a directory" "Say where the executable is: --dir DIR"
  [ ! -L "$dir/devloop" ] || fail "$dir/devloop is a link, which install.sh has not made; npm makes such links" "npm uninstall -g kube-devloop"
  [ "$(readlink "$dir/kubectl-devloop")" = devloop ] || fail "install.sh has not made $dir/devloop: there is no link kubectl-devloop beside it" "Remove it by hand."
}

# stays WHAT COMMAND
stays() {
  say "  $1"
  say "    $2"
}

say_what_stays() {
  say "What stays on this machine, and what removes it:"
  [ ! -d "$state" ] || stays "agreements, recorded reviews and output, and kept data of --embedded" "rm -rf $(quoted "$state")"
  [ ! -d "$cache" ] || stays "built controllers and compiled code" "rm -rf $(quoted "$cache")"
  [ ! -d "$envtest" ] || stays "etcd and kube-apiserver, which setup-envtest has installed; your tests may use them" "rm -rf $(quoted "$envtest")"
  stays "Go's caches of builds and modules, which all your Go projects share" "go clean -cache -modcache"
  stays "what devloop init and devloop reviews save have written into checkouts, and host keys in ~/.ssh/known_hosts" "remove what you no longer want by hand"
}

main() {
  dir=
  while [ $# -gt 0 ]; do
    case $1 in
      --dir)
        [ -n "${2-}" ] || fail "$1 needs a value" "sh uninstall.sh --help"
        dir=$2
        shift
        ;;
      --dir=?*) dir=${1#*=} ;;
      -h | --help) usage; exit 0 ;;
      *) fail "unknown argument: $1" "sh uninstall.sh --help" ;;
    esac
    shift
  done
  [ -n "${HOME-}" ] || fail "HOME is not set" "HOME=DIR sh uninstall.sh"
  dir=${dir:-$HOME/.local/bin}
  state=$(absolute "${XDG_STATE_HOME-}" "$HOME/.local/state")/devloop
  cache=$(absolute "${XDG_CACHE_HOME-}" "$HOME/.cache")/devloop
  case $(uname -s) in
    Darwin) envtest="$HOME/Library/Application Support/io.kubebuilder.envtest" ;;
    *) envtest=${XDG_DATA_HOME:-$HOME/.local/share}/kubebuilder-envtest ;;
  esac

  check_target
  check_sessions
  rm -f -- "$dir/kubectl_complete-devloop" "$dir/kubectl-devloop" "$dir/devloop"
  say "removed     $dir/devloop, and the links kubectl-devloop and kubectl_complete-devloop"
  say_what_stays
}

main "$@"
exit
}
