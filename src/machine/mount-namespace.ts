import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { runTool } from './tool.ts';

/** A file or directory that one program also finds at another path. */
export interface Placed {
  from: string;
  /** The other path: absolute, and need not exist. */
  to: string;
}

/**
 * The beginning of a command that runs a program in a mount namespace of its own, with the same pid, process group and signals. Later
 * mounts of the machine appear in the namespace, but mounts of the namespace do not appear on the machine. Without root, the user first
 * becomes the owner of a user namespace, with the same uid.
 */
function enter(): string[] {
  const own = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return ['unshare', ...own, '--mount', '--propagation', 'slave'];
}

/**
 * A mount needs an existing file or directory, which the user is not always allowed to create. In that case, an empty directory is mounted
 * over the nearest existing directory above, and everything in the covered directory is mounted into the empty one. The root cannot be
 * covered, so the empty directory becomes the new root instead. If a machine does not allow one of these steps, the program runs without
 * the file.
 */
const PLACE = `scratch=$1; shift
again() {
  case "$1$2" in
    *[[:space:]\\\\#]*) mount --rbind "$1" "$2" ;;
    *) echo "$1 $2 none rbind 0 0" >&3 ;;
  esac
}
# Each program that this script starts delays the controller, so one mkdir creates all directories, and one cp copies all links.
fill() {
  from=$1 to=$2
  set --
  for one in "$from"/* "$from"/.[!.]*; do [ ! -d "$one" ] || [ -L "$one" ] || set -- "$@" "$to/\${one##*/}"; done
  [ $# = 0 ] || mkdir "$@" || return 1
  set --
  for one in "$from"/* "$from"/.[!.]*; do [ ! -L "$one" ] || set -- "$@" "$one"; done
  [ $# = 0 ] || cp -P "$@" "$to" || return 1
  # mount itself writes to /run/mount. mount --all skips what is already mounted in its place, so it fills the empty directory before that is moved.
  for one in "$from"/* "$from"/.[!.]*; do
    here=$to/\${one##*/}
    if [ -L "$one" ]; then continue
    elif [ -d "$one" ]; then again "$one" "$here"
    elif [ -e "$one" ]; then : > "$here" && again "$one" "$here"
    fi || return 1
  done 3> "$to.fstab"
  mount --all --fstab "$to.fstab"
}
cover() {
  at=$(cd -P "$1" && pwd) && count=$((count + 1)) && kept=$scratch/$count && mkdir -p "$kept" || return 1
  # Unbindable until it is moved, so that nothing that is mounted into it contains it.
  mount -t tmpfs -o mode=755 --make-unbindable tmpfs "$kept" || return 1
  fill "\${at%/}" "$kept" && move && mount --make-private "$at" && return
  umount --lazy "$kept"
  return 1
}
move() {
  if [ "$at" != / ]; then mount --no-mtab --move "$kept" "$at"; return; fi
  mkdir "$kept/.before" && PATH=$PATH:/usr/sbin:/sbin pivot_root "$kept" "$kept/.before" && cd "$PWD" &&
    umount --lazy /.before && rmdir /.before
}
above() {
  near=\${1%/*}
  near=\${near:-/}
}
place() {
  if [ ! -e "$2" ]; then
    above "$2"
    while [ ! -d "$near" ]; do above "$near"; done
    cover "$near" || return 1
    above "$2"
    if [ -d "$1" ]; then mkdir -p "$2"; else { [ -d "$near" ] || mkdir -p "$near"; } && : > "$2"; fi || return 1
  fi
  mount --bind "$1" "$2"
}
while [ "$1" != -- ]; do
  place "$1" "$2" || echo "devloop: could not mount $2, so the controller runs without it" >&2
  shift 2
done
shift
exec "$@"`;

/** The command that runs `command` with these files in their places. `scratch`: a directory that only this command uses. */
export function withPlaced(placed: Placed[], scratch: string, command: string[]): string[] {
  if (placed.length === 0) return command;
  const pairs = placed.flatMap(({ from, to }) => [from, to]);
  return [...enter(), '/bin/sh', '-c', PLACE, 'sh', scratch, ...pairs, '--', ...command];
}

let allowed: Promise<boolean> | undefined;

/** Whether this user can run a program with files that only the program sees; some systems and containers forbid it. */
export async function canPlace(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  allowed ??= runTool([...enter(), 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']).then(({ code }) => code === 0);
  return await allowed;
}

/** Whether something exists at a path, or else the nearest existing thing above it is a directory. */
export function isPlaceable(to: string): boolean {
  let near = dirname(to);
  while (!existsSync(near)) near = dirname(near);
  return existsSync(to) || statSync(near).isDirectory();
}

/**
 * Whether mounting something at `to` hides nothing of this machine from the program. A ConfigMap over `/etc` could also bring an
 * `/etc/ld.so.preload`, whose libraries would be loaded into the program and everything that it starts.
 */
export function isFree(to: string): boolean {
  const found = lstatSync(to, { throwIfNoEntry: false });
  if (found === undefined) return true;
  return found.isDirectory() && isEmpty(to);
}

/** A directory that this user is not allowed to list counts as not empty. */
function isEmpty(directory: string): boolean {
  try {
    return readdirSync(directory).length === 0;
  } catch {
    return false;
  }
}
