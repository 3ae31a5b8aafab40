import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCalls } from '../../../src/calls/read.ts';
import type { TestCluster } from '../../cluster/cluster.ts';
import { run } from '../../cluster/run.ts';
import { eventually } from '../../support/eventually.ts';
import { end } from '../../support/sshd/network.ts';
import { buildProgram } from '../tunnel/load.ts';

/** `silent`: the API proxy without a recorder. */
export const WAYS: ('direct' | 'devloop' | 'silent')[] = ['direct', 'devloop', 'silent'];

/** The API server, and two API proxies in front of it. */
export interface Subjects extends AsyncDisposable {
  /** Runs tunnel/api.go; returns what it measured. */
  load(command: string, ...args: (string | number)[]): Promise<Record<string, number>>;
  /** The resident memory of a proxy's process, in MB. */
  memoryOf(name: 'devloop' | 'silent'): Promise<number>;
  /** Resolves when as many calls are recorded. */
  recorded(calls: number): Promise<void>;
  /** How many calls are recorded: each has the next number. */
  lastRecorded(): Promise<number>;
}

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

const RECORDED_WITHIN_MS = 120_000;

export async function startSubjects({ kubeconfig }: TestCluster): Promise<Subjects> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'devloop-api-bench-'));
  stack.defer(() => rm(dir, { recursive: true }));
  const program = await buildProgram(dir);
  const recording = join(dir, 'recording');
  await mkdir(recording);
  const devloop = await startProxy([kubeconfig, recording]);
  stack.use(devloop);
  const silent = await startProxy([kubeconfig]);
  stack.use(silent);
  const pids = { devloop: devloop.pid, silent: silent.pid };
  const lastRecorded = async (): Promise<number> =>
    Number((await readCalls(recording)).at(-1)?.id.replace('c-', ''));
  const ways = join(dir, 'ways.json');
  const all = { direct: await directly(kubeconfig), devloop: devloop.way, silent: silent.way };
  await writeFile(ways, JSON.stringify(all), { mode: 0o600 });
  const owned = stack.move();
  return {
    load: async (command, ...args) =>
      JSON.parse((await run(program, ['api', command, ways, ...args.map(String)])) || '{}'),
    async memoryOf(name) {
      const status = await readFile(`/proc/${pids[name]}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1000;
    },
    async recorded(calls) {
      await eventually(async () => {
        const last = await lastRecorded();
        if (!(last >= calls)) throw new Error(`${last} of ${calls} calls are recorded`);
      }, RECORDED_WITHIN_MS);
    },
    lastRecorded,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startProxy(args: string[]): Promise<AsyncDisposable & { pid: number; way: object }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'ours.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    pid: child.pid!,
    way: JSON.parse(String(line)) as object,
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function directly(kubeconfig: string): Promise<object> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = config.clusters[0]!.cluster;
  const user = config.users[0]!.user;
  const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
  return {
    url: server,
    ca: text(ca),
    cert: text(user['client-certificate-data']),
    key: text(user['client-key-data']),
  };
}
