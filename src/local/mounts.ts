import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { Target } from '../operator/discover.ts';
import { namedMounts } from '../operator/mounts.ts';
import type { Emit } from '../report/events.ts';
import { withoutLeaderElection } from './config-files.ts';
import type { LocalFiles } from './files.ts';
import type { MountedPath } from './mounted-paths.ts';

/** What the controller needs on this machine: a directory, also where nothing is in it, and files by their path in it. */
export interface NeededFiles {
  directory: string;
  files: Record<string, string | Buffer>;
}

/** Keys of Secrets and ConfigMaps cannot hold a slash; `items` may name sub-directories. */
export async function layOutFiles({ directory, files }: NeededFiles): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, content, { mode: 0o600 });
  }
}

/** Where each mounted path that the arguments name lies here, and what has to lie there. */
export async function planMounts(
  api: ClusterApi,
  target: Target,
  files: LocalFiles,
  words: string[],
  emit: Emit,
): Promise<{ paths: MountedPath[]; needed: NeededFiles[] }> {
  const needed: NeededFiles[] = [];
  const paths = files.mountedAt.map((from) => ({ from, to: files.certificates }));
  const mounts = (await namedMounts(api, target, words)).filter(
    (mount) => !files.mountedAt.includes(mount.path),
  );
  for (const [index, mount] of mounts.entries()) {
    const directory = join(files.directory, 'mounts', String(index));
    const entries = Object.entries(mount.files);
    const contents = entries.map(([name, content]) => [name, localContent(name, content, emit)] as const);
    needed.push({ directory, files: Object.fromEntries(contents) });
    const to = mount.isFile ? join(directory, Object.keys(mount.files)[0]!) : directory;
    paths.push({ from: mount.path, to });
    emit({
      type: 'note',
      message: `Mounted ${mount.isFile ? 'file' : 'directory'} ${mount.path}\nlies here at ${to}.`,
    });
  }
  return { paths, needed };
}

function localContent(name: string, content: Buffer, emit: Emit): string | Buffer {
  if (!/\.(ya?ml|json)$/.test(name)) return content;
  const changed = withoutLeaderElection(content.toString('utf8'));
  if (changed === undefined) return content;
  emit({
    type: 'note',
    message: `Leader election is switched off in the copy of ${name}: it needs a Pod; the in-cluster manager is quiet.`,
  });
  return changed;
}
