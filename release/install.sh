#!/bin/sh
# Installs the devloop executable for this machine from release files: sh install.sh --help
# The braces make the shell read the whole file before it runs any of it, so a download that was cut off does nothing.
{
set -eu
# With CDPATH, cd prints.
unset CDPATH

VERSION='@VERSION@'
# The key that signs SHA256SUMS, as in ~/.ssh/id_ed25519.pub; empty in a release that is not signed.
PUBLIC_KEY='@PUBLIC_KEY@'
# Where the release files are published; empty if that was not known.
RELEASE_URL='@RELEASE_URL@'
MIN_GLIBC=28 # the minor version of glibc 2.x that Node needs
MAX_BLOCKS=1000000 # of 512 bytes; some shells count 1024

usage() {
  cat <<END
Install devloop $VERSION.

Usage: sh install.sh [--from DIR_OR_URL] [--to DIR]

  --from DIR_OR_URL  where the release files are (default: the directory of this script${RELEASE_URL:+, else
                     $RELEASE_URL})
  --to DIR           where the executable goes (default: ~/.local/bin)
  --version          print the version that this script installs
  --help             print this text

It verifies the signature of SHA256SUMS and the checksum of the archive before it unpacks anything, needs no root, and
changes nothing but DIR/devloop and the links DIR/kubectl-devloop and DIR/kubectl_complete-devloop.
END
}

say() { printf '%s\n' "$*"; }

# fail MESSAGE NEXT_STEP
fail() {
  printf 'install.sh: %s\n' "$1" >&2
  [ -z "${2-}" ] || printf '→ %s\n' "$2" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# The directory of this script, if it is a file beside the release files: with `curl … | sh`, it is none.
own_directory() {
  [ -f "$0" ] || return 0
  dir=$(dirname -- "$0")
  [ ! -f "$dir/SHA256SUMS" ] || (cd -- "$dir" && pwd)
}

platform() {
  os=$(uname -s)
  arch=$(uname -m)
  case $os in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    MINGW* | MSYS* | CYGWIN*) fail "devloop does not run on Windows itself" "Run this script in WSL 2: https://learn.microsoft.com/windows/wsl/install" ;;
    *) fail "there is no executable for $os" "Install the npm package: npm install -g kube-devloop-$VERSION.tgz" ;;
  esac
  case $arch in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no executable for $os on $arch" "Install the npm package: npm install -g kube-devloop-$VERSION.tgz" ;;
  esac
  # A shell that Rosetta translates reports the processor that it translates for.
  if [ "$os-$arch" = darwin-x64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then arch=arm64; fi
  if [ "$os" = linux ]; then check_libc; fi
}

# The executables are linked with glibc, as Node's own ones are.
check_libc() {
  bits=$(getconf LONG_BIT 2>/dev/null || :)
  [ "$bits" != 32 ] || fail "this system is a 32-bit one on a 64-bit kernel ($arch), for which there is no executable" "Use a 64-bit system."
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1 || :)
  case $libc in
    *musl*) fail_musl ;;
    'glibc 2.'*)
      minor=${libc#glibc 2.}
      minor=${minor%%[!0-9]*}
      [ "${minor:-0}" -ge "$MIN_GLIBC" ] || fail "this system has $libc; the executables need glibc 2.$MIN_GLIBC or newer" "Use a newer distribution, such as Debian 10, Ubuntu 20.04 or RHEL 8."
      ;;
    *) for loader in /lib/ld-musl-*; do [ ! -e "$loader" ] || fail_musl; done ;;
  esac
}

fail_musl() {
  fail "this system has musl (as Alpine does); the executables need glibc" "Install the npm package with Node 24 or newer of your distribution: npm install -g kube-devloop-$VERSION.tgz"
}

# fetch NAME [STEP]: copies a release file to $work. STEP: what to do if it is not there.
fetch() {
  step=${2:-Say where the release files are: --from DIR_OR_URL}
  said="cannot get $1 from $from"
  case $from in
    http://* | https://*) download "${from%/}/$1" "$work/$1" && return ;;
    *)
      if [ -f "$from/$1" ]; then
        cp -- "$from/$1" "$work/$1" && return
        step=$make_room
      fi
      ;;
  esac
  fail "$said" "$step"
}

# limited COMMAND...: what never ends must not fill the disk. Not every curl has a limit, and wget has none; the shell has.
limited() {
  (
    # shellcheck disable=SC3045 # every shell that is a /bin/sh has it
    ulimit -c 0
    # It fails if there is a lower one.
    ulimit -f "$MAX_BLOCKS" 2>/dev/null || :
    "$@"
  )
}

# If it fails for another reason than that the file is not there, $step becomes what to do about that.
download() {
  again="Check the address and your network connection, and run this script again."
  if has curl; then
    status=$(limited curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 --speed-limit 1000 --speed-time 60 \
      --proto '=http,https' --write-out '%{http_code}' --output "$2" "$1") && return
    case $? in
      3) ;;
      22) refused "$1" "$status" ;;
      23) step=$make_room ;;
      *) step=$again ;;
    esac
  elif has wget; then
    # Without a limit of its own: wget of BusyBox 1.35 crashes with one.
    limited wget -q -O "$2" "$1" && return
    case $? in
      # That of BusyBox knows no other code.
      1) step="Check the address, your network connection and the free space in $temporary, and run this script again." ;;
      3) step=$make_room ;;
      8) refused "$1" "an error" ;;
      *) step=$again ;;
    esac
  else
    fail "neither curl nor wget is installed, so nothing can be downloaded" "Install curl, or download the files with a browser and run: sh install.sh --from DIR"
  fi
  return 1
}

# refused URL STATUS: the server has answered with an error; $step already says what to do about a file that is not there.
refused() {
  said="$1 answered ${2:-an error}"
  case $2 in
    5??) step="Run this script again later, or get the files from elsewhere: --from DIR_OR_URL" ;;
    401 | 403 | 407) step="Check that you, or your proxy, may read this address, or get the files from elsewhere: --from DIR_OR_URL" ;;
  esac
}

verify_signature() {
  if [ -z "$PUBLIC_KEY" ]; then
    say "signature   none: this release is not signed, so only its checksums are verified"
    return 0
  fi
  fetch SHA256SUMS.sig "This release is signed, so it has that file: download the release files again."
  if ! has ssh-keygen || ssh-keygen -Y verify 2>&1 | grep -qi -e 'unknown option' -e 'illegal option' -e 'invalid option'; then
    say "signature   not verified: that takes ssh-keygen of OpenSSH 8.2 or newer; only the checksums are verified"
    return 0
  fi
  printf 'devloop-release %s\n' "$PUBLIC_KEY" >"$work/allowed_signers" || fail "cannot write to $temporary" "$make_room"
  ssh-keygen -Y verify -f "$work/allowed_signers" -I devloop-release -n devloop-release \
    -s "$work/SHA256SUMS.sig" <"$work/SHA256SUMS" >/dev/null 2>&1 ||
    fail "SHA256SUMS does not have the signature of devloop's release key: somebody else has made or changed it" "Download the release files again, from where devloop is published. Do not use these."
  say "signature   verified (SHA256SUMS)"
}

sha256() {
  if has sha256sum; then sha256sum <"$1"
  elif has shasum; then shasum -a 256 <"$1"
  elif has openssl; then openssl dgst -sha256 -r <"$1"
  else fail "none of sha256sum, shasum and openssl is installed, so the checksum cannot be verified" "Install coreutils (sha256sum)."
  fi
}

verify_checksum() {
  wanted=
  while read -r sum name; do
    if [ "${name#\*}" = "$1" ]; then wanted=$sum; fi
  done <"$work/SHA256SUMS"
  case $wanted in *[!0-9a-f]*) fail "SHA256SUMS in $from has no SHA-256 for $1" "Download the release files again." ;; esac
  [ -n "$wanted" ] || fail "SHA256SUMS in $from does not list $1" "Use the install.sh and the SHA256SUMS of the same release."
  found=$(sha256 "$work/$1")
  found=${found%% *}
  [ "$found" = "$wanted" ] || fail "$1 has the SHA-256 $found, but SHA256SUMS says $wanted" "Download the release files again."
  say "checksum    verified ($1)"
}

# For kubectl: its plugin, and the program with which it completes that.
LINKS='kubectl-devloop kubectl_complete-devloop'

# What is at the target must be an earlier installation, or nothing.
check_target() {
  for name in devloop $LINKS; do
    [ ! -d "$to/$name" ] || fail "$to/$name is a directory" "Choose another place: --to DIR"
  done
  [ ! -L "$to/devloop" ] || fail "$to/devloop is a link, which this script has not made; npm makes such links" "Remove it (npm uninstall -g kube-devloop, or npm unlink -g kube-devloop), or choose another place: --to DIR"
}

# Says that the target cannot be written to before anything is downloaded.
prepare_target() {
  # With the umask of some containers, others could put programs there.
  umask go-w
  if ! { mkdir -p -- "$to" && to=$(cd -- "$to" && pwd) && new=$(mktemp "$to/.devloop.XXXXXX"); }; then
    fail "cannot write to $to" "Choose a directory that you can write to: --to DIR"
  fi
}

# Nothing at the target is replaced before the new executable has run.
install_executable() {
  # Its checksum is verified, so nothing is wrong with the archive.
  tar -xzOf "$work/$1" devloop >"$new" || fail "cannot unpack $1 to $to" "Make room there, or choose another directory: --to DIR"
  chmod 755 "$new"
  printed=$("$new" --version 2>&1) || fail "the executable does not run here: $(printf %s "$printed" | head -n 3)" "Install the npm package: npm install -g kube-devloop-$VERSION.tgz"
  [ "$printed" = "$VERSION" ] || fail "the executable is version $printed, and not $VERSION" "Use the files of one release."
  mv -f "$new" "$to/devloop"
  new=
  for name in $LINKS; do
    link=$to/.$name.$$
    ln -s devloop "$link"
    mv -f "$link" "$to/$name"
    link=
  done
}

say_path() {
  case :$PATH: in
    *":$to:"*)
      first=$(command -v devloop || :)
      [ "$first" = "$to/devloop" ] || say "note        your shell finds $first first: put $to before it on your PATH"
      return 0
      ;;
  esac
  say "note        $to is not on your PATH. This script edits no profile; add this line to yours:"
  case ${SHELL-} in
    */fish) say "              fish_add_path $to" ;;
    *) say "              export PATH=\"$to:\$PATH\"" ;;
  esac
}

# shellcheck disable=SC2317 # a trap calls it
clean() {
  [ -z "$work" ] || rm -rf -- "$work"
  [ -z "$new" ] || rm -f -- "$new"
  [ -z "$link" ] || rm -f -- "$link"
}

main() {
  from=
  to=
  work=
  new=
  link=
  while [ $# -gt 0 ]; do
    case $1 in
      --from | --to)
        [ -n "${2-}" ] || fail "$1 needs a value" "sh install.sh --help"
        if [ "$1" = --from ]; then from=$2; else to=$2; fi
        shift
        ;;
      --from=?*) from=${1#*=} ;;
      --to=?*) to=${1#*=} ;;
      --version) say "$VERSION"; exit 0 ;;
      -h | --help) usage; exit 0 ;;
      *) fail "unknown argument: $1" "sh install.sh --help" ;;
    esac
    shift
  done
  case $VERSION in *@*) fail "this is the template of the script" "npm run release writes the script itself to dist/release." ;; esac

  [ -n "$from" ] || from=$(own_directory)
  [ -n "$from" ] || from=$RELEASE_URL
  [ -n "$from" ] || fail "there are no release files beside this script" "Say where they are: sh install.sh --from DIR_OR_URL"
  if [ -z "$to" ]; then
    [ -n "${HOME-}" ] || fail "HOME is not set" "Say where the executable goes: --to DIR"
    to=$HOME/.local/bin
  fi
  platform
  for program in tar gzip; do
    has "$program" || fail "$program is not installed, so nothing can be unpacked" "Install $program."
  done
  archive=devloop-$VERSION-$os-$arch.tar.gz
  check_target

  trap clean EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  prepare_target
  temporary=${TMPDIR:-/tmp}
  make_room="Make room in $temporary, or set TMPDIR to a directory with more."
  work=$(mktemp -d) || fail "cannot make a directory in $temporary" "Set TMPDIR to a directory that you can write to, with some room."
  fetch SHA256SUMS
  verify_signature
  fetch "$archive"
  verify_checksum "$archive"
  install_executable "$archive"
  say "installed   $to/devloop $VERSION, and the links kubectl-devloop and kubectl_complete-devloop"
  say_path
  say "next        devloop up --embedded (no cluster needed), or devloop doctor for your cluster, in the checkout of your operator"
}

main "$@"
exit
}
