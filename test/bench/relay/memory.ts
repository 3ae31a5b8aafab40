import { readdir, readFile } from 'node:fs/promises';
import type { TestCluster } from '../../cluster/cluster.ts';
import { eventually } from '../../support/eventually.ts';
import { note, report } from '../figures.ts';
import type { Load } from '../tunnel/load.ts';
import { NAMESPACE, startOurs } from './subjects.ts';

const FEW = Number(process.env.BENCH_FEW ?? 12_000);
const MANY = Number(process.env.BENCH_MANY ?? 50_000);
const AT_ONCE = 16;
const GOAL = 1.05;
/** The same limits as in the Pod. Without them, V8 uses 100 MB more for the first 50,000 connections, which is no leak. */
const SMALL_HEAP = ['--max-semi-space-size=2', '--max-old-space-size=64'];

interface State {
  /** Resident memory, in MB. */
  memory: number;
  files: number;
}

/** Reports whether many connections leave more memory and open files behind than a few. */
export async function memoryFigures(cluster: TestCluster, load: Load): Promise<void> {
  await using ours = await startOurs(cluster, load, { flags: SMALL_HEAP });
  const { enter, address, ports } = ours;
  const pids = { 'this side': ours.pid, 'the Pod': await pidOf(await uidOf(cluster, ours.pod)) };
  const carry = async (count: number): Promise<void> => {
    const { failed, perSecond } = await load.connections(address, ports[1], AT_ONCE, count, enter);
    note(`${count} connections, ${perSecond.toFixed(0)} a second`);
    report({ name: `relay: failed of ${count} connections`, ours: failed, unit: '', goal: { most: 0 } });
  };
  const before = await statesOf(pids);
  await carry(FEW);
  const few = await statesOf(pids, before);
  await carry(MANY - FEW);
  const many = await statesOf(pids, before);
  for (const side of Object.keys(pids)) {
    const [first, then, last] = [before[side]!, few[side]!, many[side]!];
    report({
      name: `relay: memory of ${side} after ${MANY} connections`,
      ours: last.memory,
      unit: 'MB',
      anchor: { name: `after ${FEW}`, value: then.memory },
      goal: { most: GOAL },
    });
    note(`${first.memory.toFixed(1)} MB before the first`);
    const more = last.files - first.files;
    report({
      name: `relay: open files of ${side} left over`,
      ours: Math.abs(more),
      unit: '',
      goal: { most: 0 },
    });
  }
}

async function uidOf(cluster: TestCluster, pod: string): Promise<string> {
  return await cluster.kubectl(['-n', NAMESPACE, 'get', 'pod', pod, '-o', 'jsonpath={.metadata.uid}']);
}

/** Other clusters of this machine may have such Pods, too; the name of the control group contains the Pod's uid. */
async function pidOf(uid: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const read = (file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    if ((await read('cgroup')).includes(uid) && (await read('cmdline')).includes('relay.json'))
      return Number(pid);
  }
  throw new Error(`no process of the Pod with uid ${uid}`);
}

/** Waits until as many files are open as before, because closing a connection through the cluster takes a moment. */
async function statesOf(
  pids: Record<string, number>,
  before?: Record<string, State>,
): Promise<Record<string, State>> {
  const states = async (): Promise<Record<string, State>> =>
    Object.fromEntries(
      await Promise.all(Object.entries(pids).map(async ([side, pid]) => [side, await stateOf(pid)])),
    );
  if (before === undefined) return await states();
  const settled = eventually(async () => {
    const now = await states();
    if (Object.keys(now).some((side) => now[side]!.files !== before[side]!.files)) throw new Error('not yet');
    return now;
  }, 10_000);
  // If the number does not return to what it was, the difference is reported.
  return await settled.catch(states);
}

async function stateOf(pid: number): Promise<State> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const files = await readdir(`/proc/${pid}/fd`);
  return { memory: Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1000, files: files.length };
}
