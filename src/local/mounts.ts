import { randomUUID } from 'node:crypto';
import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClusterApi } from '../cluster/api/client.ts';
import { leadsOut, makePath, writeBelow } from '../machine/own-files.ts';
import { namedMounts } from '../operator/mounts.ts';
import type { Target } from '../operator/target.ts';
import type { Emit } from '../report/events.ts';
import type { LocalFiles } from './key-pair-files.ts';
import { fileWithoutElection } from './leader-election.ts';

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

/** The longest mount wins, and only whole path segments count: /certs is not a prefix of /certs-old. */
function rewritePath(path: string, paths: MountedPath[]): string {
  let best: MountedPath | undefined;
  for (const mount of paths) {
    const from = withoutTrailingSlash(mount.from);
    const inside = path === from || path.startsWith(`${from}/`);
    if (inside && from.length > (best?.from.length ?? 0)) best = { from, to: withoutTrailingSlash(mount.to) };
  }
  return best ? best.to + path.slice(best.from.length) : path;
}

function withoutTrailingSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

/** A directory that the controller needs on this machine, even an empty one, and the files in it by their relative path. */
export interface NeededFiles {
  directory: string;
  files: Record<string, string | Buffer>;
}

/**
 * Keys of Secrets and ConfigMaps cannot hold a slash; `items` may name sub-directories. The API server refuses names that leave the
 * volume, so one that does is not the API server's. Files of an earlier version of the manager are replaced.
 */
export async function writeNeededFiles(needed: NeededFiles[]): Promise<void> {
  for (const { directory, files } of needed) {
    await writeBelow(directory, async () => {
      await makePath(directory);
      for (const [name, content] of Object.entries(files)) {
        if (leadsOut(name)) continue;
        const path = join(directory, name);
        await makePath(dirname(path));
        await writeOrReplace(path, content);
      }
    });
  }
}

/** Replaces at once, and only a plain file of this user's: neither a link nor a file of somebody else. Throws EEXIST for those. */
async function writeOrReplace(path: string, content: string | Buffer): Promise<void> {
  const create = (file: string) => writeFile(file, content, { mode: 0o600, flag: 'wx' });
  const taken = await create(path).catch((error: NodeJS.ErrnoException) => error);
  if (taken === undefined) return;
  const found = taken.code === 'EEXIST' ? await lstat(path) : undefined;
  if (!found?.isFile() || found.uid !== process.getuid?.()) throw taken;
  if ((await readFile(path)).equals(Buffer.from(content))) return;
  const beside = `${path}.${randomUUID()}`;
  try {
    await create(beside);
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

/** What is needed to make the paths of a Deployment local. */
export interface MountInputs {
  api: ClusterApi;
  target: Target;
  files: LocalFiles;
  /** The directories in which the manager's container sees the key pairs. */
  keyPairMounts: string[];
}

/** Where the copy of each mounted path that the arguments or variables (`words`) name is on this machine, and what has to be written there. */
export async function planMounts(
  { api, target, files, keyPairMounts }: MountInputs,
  words: string[],
  emit: Emit,
): Promise<{ paths: MountedPath[]; needed: NeededFiles[] }> {
  const needed: NeededFiles[] = [];
  const paths = keyPairMounts.map((from) => ({ from, to: files.keyPairDirectory }));
  const named = await namedMounts(api, target, words);
  const mounts = named.filter(({ path }) => !keyPairMounts.includes(path));
  for (const [index, mount] of mounts.entries()) {
    const directory = join(files.directory, 'mounts', String(index));
    const entries = Object.entries(mount.files);
    const contents = entries.map(([name, content]) => [name, localContent(name, content, emit)] as const);
    needed.push({ directory, files: Object.fromEntries(contents) });
    const to = mount.isFile ? join(directory, Object.keys(mount.files)[0]!) : directory;
    paths.push({ from: mount.path, to });
    const what = mount.isFile ? 'file' : 'directory';
    emit({ type: 'note', message: `The mounted ${what} ${mount.path}\nis copied to ${to}.` });
  }
  return { paths, needed };
}

function localContent(name: string, content: Buffer, emit: Emit): string | Buffer {
  const changed = content.includes(0) ? undefined : fileWithoutElection(content.toString('utf8'));
  if (changed === undefined) return content;
  const message = `Leader election is turned off in the local copy of ${name}: it only works in a Pod, and the in-cluster manager is paused.`;
  emit({ type: 'note', message });
  return changed;
}
