/**
 * Images in the form in which a container runtime keeps them. Importing one takes two seconds of processor time, since the runtime hashes
 * it three times; a box that starts with the images only has to name them.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cached, hashOf } from './cache.ts';
import { RUNTIME_SOCKET, runtimeConfig } from './config.ts';
import { run } from './run.ts';

/** The flags with which `ctr` finds the container runtime of a box. */
export const IN_BOX = ['--address', RUNTIME_SOCKET, '--namespace', 'k8s.io'];
const DATABASES = ['metadata.v1.bolt/meta.db', 'snapshotter.v1.overlayfs/metadata.db'];
const OWN = '--mount --pid --fork --mount-proc --kill-child --propagation private'.split(' ');
const MANAGED = 'io.cri-containerd.image';
const knownMs = 10_000;

type Ctr = (args: string[]) => Promise<string>;

/**
 * Creates a store of these archives, unless an earlier run has done so, and returns its directory. For boxes of this process and its
 * children.
 */
export async function prepareImages(archives: string[]): Promise<string> {
  const version = await run('containerd', ['--version']);
  const key = await hashOf(import.meta.dirname, ['image-store.*', 'config.ts'], version, ...archives);
  return await cached('test-image-store', key, async (part) => {
    // Directories of the cache are renamed at the end; nothing in the store depends on the name.
    await writeFile(join(part, 'containerd.toml'), runtimeConfig(part, 'grpc.v1.cri'));
    const script = join(import.meta.dirname, 'image-store.sh');
    await run('unshare', [...OWN, 'bash', script, ...archives], { env: { STORE: part } });
  });
}

/** Copies the store into a box that has not started yet. Files that never change are shared. */
export async function copyStore(store: string, dir: string): Promise<void> {
  const [from, to] = [join(store, 'containerd'), join(dir, 'containerd')];
  await run('cp', ['--archive', '--link', from, to]).catch(async () => {
    // The box is on another file system.
    await rm(to, { recursive: true, force: true });
    await run('cp', ['--archive', from, to]);
  });
  for (const file of DATABASES) {
    const path = `io.containerd.${file}`;
    await run('cp', ['--remove-destination', join(from, path), join(to, path)]);
  }
}

/** Whether the archive's images are in the store. If so, the box now has them under their names. */
export async function nameImages(store: string, archive: string, ctr: Ctr): Promise<boolean> {
  const lines = (await readFile(join(store, 'images'), 'utf8')).trim().split('\n');
  const own = lines.map((line) => line.split('\t')).filter(([from]) => from === archive);
  for (const [, name = '', kept = ''] of own) if (!(await labelsOf(name, ctr))) await rename(kept, name, ctr);
  return own.length > 0;
}

async function rename(kept: string, name: string, ctr: Ctr): Promise<void> {
  await ctr(['images', 'tag', kept, name]);
  // The new name gets the label of the old one. The runtime's CRI plugin sets the label again once it knows the name.
  await ctr(['images', 'label', name, `${MANAGED}=`]);
  const deadline = Date.now() + knownMs;
  while (!(await labelsOf(name, ctr)).includes(`${MANAGED}=managed`)) {
    if (Date.now() > deadline) throw new Error(`the container runtime took no notice of ${name}`);
    await sleep(50);
  }
  // Otherwise a Pod's status would show this name as its image.
  await ctr(['images', 'remove', kept]);
}

/** Empty if there is no such image. */
async function labelsOf(name: string, ctr: Ctr): Promise<string> {
  const [, line = ''] = (await ctr(['images', 'list', `name==${name}`])).split('\n');
  return line;
}
