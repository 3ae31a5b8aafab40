import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = '/sys/fs/cgroup';

/** Version 1 has a tree for each controller, and runc also writes to `unified`; version 2 has one tree for all of them. */
async function trees(): Promise<string[]> {
  if (await exists(join(root, 'cgroup.controllers'))) return [root];
  return (await readdir(root)).map((name) => join(root, name));
}

/** Makes the cgroup below which the kubelet of one box keeps its Pods. */
export async function createCgroup(name: string): Promise<void> {
  for (const tree of await trees()) {
    const dir = join(tree, name);
    await mkdir(dir, { recursive: true });
    if (tree === root) await enableControllers();
    else if (await exists(join(dir, 'cpuset.cpus'))) await inheritCpus(tree, dir);
  }
}

async function enableControllers(): Promise<void> {
  const controllers = (await readFile(join(root, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  await writeFile(join(root, 'cgroup.subtree_control'), controllers.map((name) => `+${name}`).join(' '));
}

/** A new cpuset is empty, and no process can enter an empty one. */
async function inheritCpus(tree: string, dir: string): Promise<void> {
  for (const file of ['cpuset.cpus', 'cpuset.mems'])
    await writeFile(join(dir, file), await readFile(join(tree, file)));
}

/** The names of all cgroups that belong to a test machine. */
export async function cgroupsOf(machine: string): Promise<string[]> {
  const lists = await Promise.all((await trees()).map((tree) => readdir(tree)));
  return [...new Set(lists.flat().filter((name) => name.startsWith(`${machine}-`)))];
}

/** Tries again for a while, because the kernel refuses until the last process has ended. */
export async function removeCgroup(name: string, timeoutMs = 5_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (const tree of await trees()) {
    while (!(await tryRemove(join(tree, name)))) {
      if (Date.now() > deadline) throw new Error(`cgroup ${join(tree, name)} is still in use`);
      await sleep(20);
    }
  }
}

async function tryRemove(dir: string): Promise<boolean> {
  if (!(await exists(dir))) return true;
  try {
    for (const entry of await readdir(dir, { withFileTypes: true })) {
      if (entry.isDirectory() && !(await tryRemove(join(dir, entry.name)))) return false;
    }
    await rmdir(dir);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EBUSY' || code === 'ENOENT') return false;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
