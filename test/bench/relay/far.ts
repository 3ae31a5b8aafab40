import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestCluster } from '../../cluster/cluster.ts';
import { note } from '../figures.ts';
import { median, ROUNDS, shuffled } from '../measure.ts';
import type { Load } from '../tunnel/load.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import { KUBECTL, OURS, type Subject, startKubectl, startOurs } from './subjects.ts';

const LOAD_MS = Number(process.env.BENCH_LOAD_MS ?? 1_000);
const ONE_WAY_MS = 20;
const API_PORT = 6443;

/** With the API server at a realistic distance, the round trips determine the time, not the processors of this machine. */
export async function farFigures(cluster: TestCluster, load: Load): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const distance = stack.use(await startDistance(API_PORT, cluster.nodeIp));
  const { file } = stack.use(await kubeconfigFor(distance.port, cluster.kubeconfig));
  const subjects: Subject[] = [stack.use(await startOurs(cluster, load, { kubeconfig: file }))];
  subjects.push(stack.use(await startKubectl(KUBECTL, cluster, file)));
  const times = new Map<string, number[]>();
  for (let round = -1; round < ROUNDS; round++) {
    for (const { name, enter, address, ports } of shuffled(subjects)) {
      for (const kind of ['keep', 'new'] as const) {
        const { p50Ms } = await load.requests(kind, address, ports[0], 1, LOAD_MS, enter);
        const key = `${name} ${kind}`;
        if (round >= 0) times.set(key, [...(times.get(key) ?? []), p50Ms]);
      }
    }
  }
  const p50 = (name: string, kind: string): number => median(times.get(`${name} ${kind}`)!);
  for (const [what, kind] of [
    ['new TLS connection', 'new'],
    ['kept connection', 'keep'],
  ] as const) {
    const [ours, anchor] = [p50(OURS, kind), p50(KUBECTL, kind)];
    const trips = [ours, anchor].map((ms) => (ms / (2 * ONE_WAY_MS)).toFixed(1));
    note(
      `relay: ${what}, p50, API server ${2 * ONE_WAY_MS} ms away: ${(ours / anchor).toFixed(2)} x (${ours.toFixed(1)} ms, ${trips[0]} round trips; ${KUBECTL}: ${anchor.toFixed(1)} ms, ${trips[1]} round trips)`,
    );
  }
}

/** A TCP proxy that delays everything, in both directions. */
async function startDistance(port: number, host: string): Promise<{ port: number } & AsyncDisposable> {
  const open = new Set<Socket>();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host, port, noDelay: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('data', (chunk) => setTimeout(() => other.write(chunk), ONE_WAY_MS));
      one.on('error', () => {});
      one.on('close', () => {
        open.delete(one);
        setTimeout(() => other.destroy(), ONE_WAY_MS);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
