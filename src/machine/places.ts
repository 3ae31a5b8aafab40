import { existsSync, lstatSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, normalize, relative } from 'node:path';

/** Whether something exists at a path, or else the nearest existing thing above it is a directory. */
export function isPlaceable(to: string): boolean {
  return existsSync(to) || (statSync(nearest(to), { throwIfNoEntry: false })?.isDirectory() ?? false);
}

/** Whether mounting something at `to` hides nothing of this machine from the program. */
export function isFree(to: string): boolean {
  const there = found(to);
  return there === undefined || (there.isDirectory() && namesIn(to)?.length === 0);
}

/** In these directories, what is missing or empty belongs to no program of this machine: each entry has the name of its own program. */
const BY_PROGRAM = ['/', '/etc', '/opt', '/srv', '/run', '/run/secrets', '/var', '/var/lib', '/var/cache'];
/** No program of this machine expects files of certain names here. */
const TEMPORARY = ['/tmp', '/var/tmp'];

/**
 * Whether files of the cluster may be in this directory, if it is missing or empty: no program of this machine looks there for programs,
 * libraries or settings. That holds in a temporary directory. It also holds below a directory that is divided by program, if there is
 * nothing else on the way: for /etc/shop/certs, either /etc/shop does not exist, or it contains at most `certs`. Nothing else is open, such
 * as what is below /usr or in the user's home directory.
 */
export function isOpenPlace(directory: string): boolean {
  const existing = nearest(directory);
  if (normalize(directory) !== directory || !existsSync(existing)) return false;
  const real = join(realpathSync(existing), relative(existing, directory));
  if ([homedir(), ...BY_PROGRAM, ...TEMPORARY].includes(real) || isBelow(real, homedir())) return false;
  if (TEMPORARY.some((one) => isBelow(real, one))) return true;
  const base = BY_PROGRAM.findLast((one) => isBelow(real, one));
  return base !== undefined && leadsOnlyTo(real, base);
}

/** Whether each directory between `base` and `directory` contains nothing else. */
function leadsOnlyTo(directory: string, base: string): boolean {
  let at = base;
  for (const [index, part] of partsOf(relative(base, directory))) {
    if (index > 0 && !namesIn(at)?.every((name) => name === part)) return !existsSync(at);
    at = join(at, part);
  }
  return true;
}

const partsOf = (path: string): [number, string][] => [...path.split('/').entries()];

function isBelow(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** A symbolic link whose target is missing exists, too. */
function nearest(path: string): string {
  let near = path;
  while (found(near) === undefined) near = dirname(near);
  return near;
}

/** Undefined where nothing is, or where this user is not allowed to look. */
export function found(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/** Undefined for a directory that does not exist, or that this user is not allowed to list. */
function namesIn(directory: string): string[] | undefined {
  try {
    return readdirSync(directory);
  } catch {
    return undefined;
  }
}
