import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { runTool } from './tool.ts';

/** A file or directory that one program finds at another path, too. */
export interface Placed {
  from: string;
  /** Absolute; need not exist. */
  to: string;
}

/**
 * Makes the namespace for the program that follows, which keeps the pid, process group and signals. What the machine mounts later
 * reaches it, and nothing of it reaches the machine. Without root, the user becomes the owner of a user namespace, under the same number.
 */
function enter(): string[] {
  const own = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return ['unshare', ...own, '--mount', '--propagation', 'slave'];
}

/**
 * A mount needs something to be mounted on, which may not exist and which the user could not create: then the nearest directory above is
 * covered by an empty one, into which everything that was there is mounted again. The root cannot be covered: there, the empty one becomes
 * the root. Where something of a machine stands in the way, the program runs without that file.
 */
const PLACE = `scratch=$1; shift
again() {
  case "$1$2" in
    *[[:space:]\\\\#]*) mount --rbind "$1" "$2" ;;
    *) echo "$1 $2 none rbind 0 0" >&3 ;;
  esac
}
# Each program that is started here is time in which no controller runs, so one makes all directories, and one copies all links.
fill() {
  from=$1 to=$2
  set --
  for one in "$from"/* "$from"/.[!.]*; do [ ! -d "$one" ] || [ -L "$one" ] || set -- "$@" "$to/\${one##*/}"; done
  [ $# = 0 ] || mkdir "$@" || return 1
  set --
  for one in "$from"/* "$from"/.[!.]*; do [ ! -L "$one" ] || set -- "$@" "$one"; done
  [ $# = 0 ] || cp -P "$@" "$to" || return 1
  # mount itself writes to /run/mount. It skips what it finds mounted in a place, so it fills the empty directory before that is put there.
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
  # Unbindable meanwhile: what is mounted into it does not contain it.
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
  place "$1" "$2" || echo "devloop: $2 is not in its place" >&2
  shift 2
done
shift
exec "$@"`;

/** The command that runs another one with these files in their places. `scratch`: a directory for its own use. */
export function withPlaced(placed: Placed[], scratch: string, command: string[]): string[] {
  if (placed.length === 0) return command;
  const pairs = placed.flatMap(({ from, to }) => [from, to]);
  return [...enter(), '/bin/sh', '-c', PLACE, 'sh', scratch, ...pairs, '--', ...command];
}

let allowed: Promise<boolean> | undefined;

/** Whether this user can run a program with files of its own in their places; some systems and containers forbid it. */
export async function canPlace(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  allowed ??= runTool([...enter(), 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']).then(({ code }) => code === 0);
  return await allowed;
}

/** Whether a file is there, or the nearest thing above is a directory. */
export function isPlaceable(to: string): boolean {
  let near = dirname(to);
  while (!existsSync(near)) near = dirname(near);
  return existsSync(to) || statSync(near).isDirectory();
}

/**
 * Whether a program that finds something at `to` loses nothing of this machine by it. `/etc` is more than what a Pod has there: a file
 * `/etc/ld.so.preload` would be loaded into the program and into all that it starts.
 */
export function isFree(to: string): boolean {
  const found = lstatSync(to, { throwIfNoEntry: false });
  if (found === undefined) return true;
  return found.isDirectory() && isEmpty(to);
}

/** One that may not be listed counts as filled. */
function isEmpty(directory: string): boolean {
  try {
    return readdirSync(directory).length === 0;
  } catch {
    return false;
  }
}
