import { readlinkSync } from 'node:fs';
import { delimiter, isAbsolute, join, relative } from 'node:path';
import { isExecutableFile } from './find-program.ts';
import { found } from './places.ts';
import { runTool } from './tool.ts';

/** A file or directory that one program also finds at another path. */
export interface Placed {
  from: string;
  /** The other path: absolute, and need not exist. */
  to: string;
  /** Whether a program can be run from there. */
  mayRun?: boolean;
}

/** The programs that make the mounts. */
const TOOLS = ['mount', 'umount', 'pivot_root', 'mkdir', 'rmdir', 'cp'];

let known: Map<string, string> | undefined;
/** Those that enter a namespace and bring up what it has. */
const ENTERING = ['unshare', 'ip'] as const;

/**
 * The absolute path of a tool. All of them are looked up at once, before anything is mounted: a mount could bring a program of the same
 * name into the user's PATH.
 */
function pathOf(tool: string): string {
  known ??= new Map([...ENTERING, ...TOOLS].map((name) => [name, find(name)]));
  return known.get(tool)!;
}

/** The same for what enters other namespaces. */
export function namespaceTool(tool: (typeof ENTERING)[number]): string {
  return pathOf(tool);
}

function find(name: string): string {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'].filter(isAbsolute);
  return directories.map((directory) => join(directory, name)).find(isExecutableFile) ?? `/usr/bin/${name}`;
}

/**
 * The beginning of a command that runs a program in a mount namespace of its own, with the same pid, process group and signals. Later
 * mounts of the machine appear in the namespace, but mounts of the namespace do not appear on the machine. Without root, the user first
 * becomes the owner of a user namespace, with the same uid.
 */
function enter(): string[] {
  const own = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return [pathOf('unshare'), ...own, '--mount', '--propagation', 'slave'];
}

/**
 * A mount needs an existing file or directory, which the user is not always allowed to create. In that case, an empty directory is mounted
 * over the nearest existing directory above, and everything in the covered directory is mounted into the empty one. The root cannot be
 * covered, so the empty directory becomes the new root instead. If a machine does not allow one of these steps, the program runs without
 * the file.
 *
 * The files themselves are mounted last, by one process, and the next program that runs is the one that needs them. Files from which
 * nothing may be run are first mounted over themselves with noexec, because a mount of a mount has the same flags from the start, unless it
 * sets any. If that fails, nothing is mounted.
 *
 * Nothing is mounted through a symbolic link: those that may lead to the place were followed before, and another user could have made the
 * others since.
 *
 * The variables of the program's environment are also variables of this script, so the script's own are local to a function.
 */
const PLACE = `again() {
  case "$1$2" in
    *[[:space:]\\\\#]*) "$mount" --rbind "$1" "$2" ;;
    *) echo "$1 $2 none rbind 0 0" >&3 ;;
  esac
}
# Each program that this script starts delays the controller, so one mkdir creates all directories, and one cp copies all links.
fill() {
  local from to one here
  from=$1 to=$2
  set --
  for one in "$from"/* "$from"/.[!.]*; do [ ! -d "$one" ] || [ -L "$one" ] || set -- "$@" "$to/\${one##*/}"; done
  [ $# = 0 ] || "$mkdir" "$@" || return 1
  set --
  for one in "$from"/* "$from"/.[!.]*; do [ ! -L "$one" ] || set -- "$@" "$one"; done
  [ $# = 0 ] || "$cp" -P "$@" "$to" || return 1
  # mount itself writes to /run/mount. mount --all skips what is already mounted in its place, so it fills the empty directory before that is moved.
  for one in "$from"/* "$from"/.[!.]*; do
    here=$to/\${one##*/}
    if [ -L "$one" ]; then continue
    elif [ -d "$one" ]; then again "$one" "$here"
    elif [ -e "$one" ]; then : > "$here" && again "$one" "$here"
    fi || return 1
  done 3> "$to.fstab"
  "$mount" --all --fstab "$to.fstab"
}
cover() {
  local at kept
  at=$(cd -P "$1" && pwd) && kept=$scratch/$2 && "$mkdir" -p "$kept" || return 1
  # Unbindable until it is moved, so that nothing that is mounted into it contains it.
  "$mount" -t tmpfs -o mode=755 --make-unbindable tmpfs "$kept" || return 1
  fill "\${at%/}" "$kept" && move "$kept" "$at" && "$mount" --make-private "$at" && return
  "$umount" --lazy "$kept"
  return 1
}
move() {
  if [ "$2" != / ]; then "$mount" --no-mtab --move "$1" "$2"; return; fi
  "$mkdir" "$1/.before" && "$pivot_root" "$1" "$1/.before" && cd "$PWD" &&
    "$umount" --lazy /.before && "$rmdir" /.before
}
# What $1 is mounted on: $2, or $3, if that is in the files of another mount.
make() {
  local near above
  near=$2 above=\${3%/*}
  [ ! -e "$3" ] || return 0
  if [ "$2" = "$3" ]; then
    while [ ! -d "\${near:-/}" ]; do near=\${near%/*}; done
    cover "\${near:-/}" "$4" || return 1
  fi
  if [ -d "$1" ]; then "$mkdir" -p "$3"; else { [ -d "\${above:-/}" ] || "$mkdir" -p "$above"; } && : > "$3"; fi
}
# Whether no part of a path is a symbolic link.
straight() {
  local at
  at=$1
  while [ -n "$at" ]; do [ ! -L "$at" ] || return 1; at=\${at%/*}; done
}
place() {
  local scratch mount umount pivot_root mkdir rmdir cp count own all
  scratch=$1 mount=$2 umount=$3 pivot_root=$4 mkdir=$5 rmdir=$6 cp=$7 count=0 own= all=
  shift 7
  while [ "$1" != -- ]; do
    count=$((count + 1))
    if [ -e "$1" ] && straight "$2" && make "$1" "$2" "$3" "$count"; then own=$own$4 all=$all$5; fi
    shift 5
  done
  [ -d "$scratch" ] || "$mkdir" -p "$scratch" || return 1
  printf '%s' "$own" > "$scratch/$$.own" && printf '%s' "$all" > "$scratch/$$.all" || return 1
  [ -z "$own" ] || "$mount" --all --fstab "$scratch/$$.own" || return 1
  "$mount" --all --fstab "$scratch/$$.all"
}
place "$@"
shift ${1 + TOOLS.length}
while [ "$1" != -- ]; do
  [ "$1" -ef "$2" ] || echo "devloop: could not mount $2, so the controller runs without it" >&2
  shift 5
done
shift
exec "$@"`;

/** The command that runs `command` with these files in their places. `scratch`: a directory that only this command uses. */
export function withPlaced(placed: Placed[], scratch: string, command: string[]): string[] {
  if (placed.length === 0) return command;
  const outerFirst = placed
    .map((one) => ({ ...one, to: followed(one.to) }))
    .toSorted((a, b) => a.to.length - b.to.length);
  const words = outerFirst.flatMap((one) => {
    const { from, to, mayRun = false } = one;
    const own = mayRun ? '' : mountLine(from, from, 'bind,noexec,nosuid,nodev');
    return [from, to, pointOf(one, outerFirst), own, mountLine(from, to, 'bind')];
  });
  return [
    ...enter(),
    '/bin/sh',
    '-c',
    PLACE,
    'sh',
    scratch,
    ...TOOLS.map(pathOf),
    ...words,
    '--',
    ...command,
  ];
}

/** As many as Linux follows. */
const MOST_LINKS = 40;

/** Where a path leads if only links of root and of this user are on the way; otherwise the path itself. */
function followed(path: string): string {
  const owners = [0, process.getuid?.()];
  const ahead = path.split('/');
  let real = '/';
  for (let links = 0; ahead.length > 0; ) {
    const next = join(real, ahead.shift()!);
    const there = found(next);
    if (!there?.isSymbolicLink()) {
      real = next;
      continue;
    }
    links += 1;
    if (!owners.includes(there.uid) || links > MOST_LINKS) return path;
    const target = readlinkSync(next);
    if (isAbsolute(target)) real = '/';
    ahead.unshift(...target.split('/'));
  }
  return real;
}

/** Where a file's mount point is created: if the file is in the place of another one, in that one's own directory. */
function pointOf({ to }: Placed, placed: Placed[]): string {
  const outer = placed.findLast((other) => to.startsWith(`${other.to}/`));
  return outer === undefined ? to : join(outer.from, relative(outer.to, to));
}

/** A line of an fstab, in which some characters are written in octal. */
function mountLine(from: string, to: string, options: string): string {
  const escaped = [from, to].map((path) =>
    path.replaceAll(/[\s\\#]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`),
  );
  return `${escaped.join(' ')} none ${options} 0 0\n`;
}

let allowed: Promise<boolean> | undefined;

/** Whether this user can run a program with files that only the program sees; some systems and containers forbid it. */
export async function canPlace(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  allowed ??= runTool([...enter(), pathOf('mount'), '-t', 'tmpfs', 'tmpfs', '/tmp']).then(
    ({ code }) => code === 0,
  );
  return await allowed;
}
