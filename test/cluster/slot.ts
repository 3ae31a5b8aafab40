import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { removeCgroup } from './cgroups.ts';
import { identify, isAlive, killAndWait, onlyChild, type ProcessIdentity } from './identity.ts';
import { links } from './links.ts';
import { lock } from './lock.ts';
import { run } from './run.ts';

/** The number of a box, and everything on this machine that is named after it. */
export interface Slot {
  number: number;
  dir: string;
  link: string;
  cgroup: string;
}

/** The file in the slot's directory that says who owns the box, and which process to kill. */
interface Claim {
  /** Absent for a detached box, which outlives the process that started it. */
  owner?: ProcessIdentity;
  box?: ProcessIdentity;
}

const slots = join(tmpdir(), 'kube-devloop-test-cluster');
const highest = 250;

const lockSlots = () => lock('slots', 60_000);

function slot(number: number): Slot {
  const link = `dlbox${number}`;
  // Each test file has a machine of its own, where numbers begin at 1, but all of them share the cgroups of the real machine.
  const cgroup = [process.env.DEVLOOP_TEST_MACHINE, link].filter(Boolean).join('-');
  return { number, dir: join(slots, String(number)), link, cgroup };
}

/** Removes boxes whose owner is dead, then takes the first free number. */
export async function claimSlot(): Promise<Slot> {
  await using _ = await lockSlots();
  await mkdir(slots, { recursive: true });
  for (const name of await readdir(slots)) await removeIfDead(name);
  for (let number = 1; number <= highest; number++) {
    const free = slot(number);
    if (existsSync(free.dir) || links().includes(free.link)) continue;
    const part = await mkdtemp(join(slots, 'part-'));
    await writeClaim(part, { owner: (await identify(process.pid))! });
    await rename(part, free.dir);
    return free;
  }
  throw new Error(`all ${highest} test clusters are taken: see ${slots}`);
}

/** Records the process to kill. A detached box has no owner, and runs until somebody stops it. */
export async function recordBox(dir: string, box: ProcessIdentity, detached: boolean): Promise<void> {
  const { owner } = await readClaim(dir);
  await writeClaim(dir, detached || !owner ? { box } : { owner, box });
}

/** Ends the box and removes everything that it left on the machine. */
export async function releaseSlot(dir: string): Promise<void> {
  const number = Number(basename(dir));
  if (dir !== slot(number).dir) throw new Error(`not a test cluster: ${dir} (they are in ${slots})`);
  // Otherwise somebody could take the number between the end of the box and the removal of what has its name.
  await using _ = await lockSlots();
  await remove(number);
}

async function remove(number: number): Promise<void> {
  const { dir, link, cgroup } = slot(number);
  const { box } = await readClaim(dir);
  if (box) await killBox(box);
  await removeLink(link);
  await removeCgroup(cgroup);
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
}

/** unshare ends when process 1 has ended, and with it every process of the box. So waiting for it is waiting for all of them. */
async function killBox(box: ProcessIdentity): Promise<void> {
  const init = (await isAlive(box)) ? await onlyChild(box.pid) : undefined;
  if (init) await killAndWait(init);
  await killAndWait(box);
}

/** The kernel removes the link some time after the box has ended, perhaps between the check and the call. */
async function removeLink(link: string): Promise<void> {
  const exists = () => links().includes(link);
  if (!exists()) return;
  await run('ip', ['link', 'delete', link]).catch((error: unknown) => {
    if (exists()) throw error;
  });
}

async function removeIfDead(name: string): Promise<void> {
  const dir = join(slots, name);
  if (!/^\d+$/.test(name)) return rm(dir, { recursive: true, force: true });
  const { owner, box } = await readClaim(dir);
  const keeper = owner ?? box;
  if (!keeper || !(await isAlive(keeper))) await remove(Number(name));
}

async function readClaim(dir: string): Promise<Claim> {
  const text = await readFile(join(dir, 'claim.json'), 'utf8').catch(() => '{}');
  return JSON.parse(text) as Claim;
}

async function writeClaim(dir: string, claim: Claim): Promise<void> {
  const file = join(dir, 'claim.json');
  await writeFile(`${file}.part`, JSON.stringify(claim));
  await rename(`${file}.part`, file);
}
