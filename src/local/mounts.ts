import { randomUUID } from 'node:crypto';
import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isAtOrBelow, withoutTrailingSlashes } from '../checkout/paths.ts';
import { leadsOut, makePath, writeBelow } from '../machine/own-files.ts';
import { isVolumePath, writeVolume } from '../machine/volume-files.ts';

/** A file or directory of the container, and where its copy is on this machine. */
export interface MountedPath {
  from: string;
  to: string;
}

/**
 * Replaces every absolute path of a value that is in a mounted directory: `/a/b`, `--flag=/a/b`, `/a/b,/c/d` and
 * `name=/a/b,other=/c/d`.
 */
export function rewritePaths(value: string, paths: MountedPath[]): string {
  return value
    .split(',')
    .map((part) => {
      const match = /^([^/]*=)?(\/.*)$/s.exec(part);
      return match ? (match[1] ?? '') + rewritePath(match[2]!, paths) : part;
    })
    .join(',');
}

/** Uses the longest mount that matches, and compares whole path segments: /certs is not a prefix of /certs-old. */
function rewritePath(path: string, paths: MountedPath[]): string {
  let best: MountedPath | undefined;
  for (const mount of paths) {
    const from = withoutTrailingSlash(mount.from);
    if (isAtOrBelow(path, from) && from.length > (best?.from.length ?? 0))
      best = { from, to: withoutTrailingSlash(mount.to) };
  }
  return best ? best.to + path.slice(best.from.length) : path;
}

/** Replaces mounted paths in a text, as `mentions` finds them: `rewritePaths` for a text of any syntax. If several match, the longest one is replaced. */
export function rewriteMentions(text: string, paths: MountedPath[]): string {
  const byLength = paths.toSorted((a, b) => b.from.length - a.from.length);
  if (byLength.length === 0) return text;
  const escaped = byLength.map(({ from }) => from.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const pattern = new RegExp(`(?<![\\w./-])(?:${escaped.join('|')})(?=$|[/,;:"'\\s])`, 'gm');
  return text.replace(pattern, (from) => byLength.find((one) => one.from === from)!.to);
}

function withoutTrailingSlash(path: string): string {
  return path.length > 1 ? withoutTrailingSlashes(path) : path;
}

/** A directory that the controller needs on this machine, even an empty one, and the files in it by their relative paths. */
export interface NeededFiles {
  directory: string;
  files: Record<string, string | Buffer>;
  /** The names of the executable files. */
  executable?: string[];
  /** Whether all files of the directory change at once, as the kubelet does it. */
  isVolume?: boolean;
}

/**
 * Writes these files. Keys of Secrets and ConfigMaps cannot contain a slash, but `items` can name subdirectories. A name that leads out of
 * the volume is skipped: the API server refuses such names, so it did not come from there. Files of an earlier version are replaced.
 * Returns the volumes that have changed.
 */
export async function writeNeededFiles(needed: NeededFiles[]): Promise<NeededFiles[]> {
  const changed: NeededFiles[] = [];
  for (const one of needed) {
    const { directory, files, executable = [] } = one;
    const modeOf = (name: string): number => (executable.includes(name) ? 0o700 : 0o600);
    await writeBelow(directory, async () => {
      await makePath(directory);
      if (one.isVolume) {
        const entries = Object.entries(files).filter(([name]) => isVolumePath(name));
        const all = entries.map(([name, content]) => [name, { content, mode: modeOf(name) }] as const);
        if (await writeVolume(directory, new Map(all))) changed.push(one);
        return;
      }
      for (const [name, content] of Object.entries(files)) {
        if (leadsOut(name)) continue;
        const path = join(directory, name);
        await makePath(dirname(path));
        await writeOrReplace(path, content, modeOf(name));
      }
    });
  }
  return changed;
}

/** Replaces a file atomically, and only a regular file that this user owns. Throws EEXIST for a link or for somebody else's file. */
async function writeOrReplace(path: string, content: string | Buffer, mode: number): Promise<void> {
  const create = (file: string) => writeFile(file, content, { mode, flag: 'wx' });
  const taken = await create(path).catch((error: NodeJS.ErrnoException) => error);
  if (taken === undefined) return;
  const found = taken.code === 'EEXIST' ? await lstat(path) : undefined;
  if (!found?.isFile() || found.uid !== process.getuid?.()) throw taken;
  const isSame = (found.mode & 0o777) === mode && (await readFile(path)).equals(Buffer.from(content));
  if (isSame) return;
  const beside = `${path}.${randomUUID()}`;
  try {
    await create(beside);
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
