import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import { swapSelector } from '../../../src/cluster/takeover/service.ts';
import type { Supervisor } from '../../../src/controller/supervisor.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { endUp } from '../../../src/session/end/end-up.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const SELECTOR = { app: 'shop' };

/** A session that has taken over a Service, and whose controller prints a line while it ends. */
async function ending(isFailure: boolean, { isTakenOver = true, endsAfterMs = 0 } = {}) {
  const cluster = fakeCluster();
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const work = { api: cluster.api, sessionId: 's1', emit, signal: new AbortController().signal };
  const metadata = { name: 'webhook', namespace: 'shop' };
  const service = cluster.put<Service>('Service', { metadata, spec: { selector: SELECTOR } });
  if (isTakenOver) await swapSelector(work, service, undefined);
  events.length = 0;
  const supervisor = {
    leave: async () => {},
    async [Symbol.asyncDispose]() {
      await pause(endsAfterMs);
      // The last line shows whether the cluster is already restored.
      const { selector } = cluster.read<Service>('Service', 'webhook', 'shop')!.spec;
      emit({ type: 'controller.output', stream: 'stderr', line: `shutdown, ${JSON.stringify(selector)}` });
    },
  } as Partial<Supervisor> as Supervisor;
  await endUp(
    work,
    { services: [], namespace: 'shop' },
    { supervisor, mayHaveChanged: true },
    { reason: 'SIGINT', isFailure, since: performance.now() - 500 },
  );
  return events;
}

test('the cluster is restored first, then the controller ends, and the result of devloop is the last line', async () => {
  const events = await ending(false);
  expect(events.map(({ type }) => type)).toEqual([
    'session.stopping',
    'change',
    'controller.output',
    'session.restored',
  ]);
  expect(events).toContainEqual(expect.objectContaining({ line: `shutdown, ${JSON.stringify(SELECTOR)}` }));
  expect(events.at(-1)).toMatchObject({ type: 'session.restored', session: 's1', changes: 1 });
});

test('how long the restoration took, since the interruption, and the end of the controller after it', async () => {
  const events = await ending(false, { endsAfterMs: 200 });
  const { ms, endMs } = events.at(-1) as Extract<DevloopEvent, { type: 'session.restored' }>;
  expect(ms).toBeGreaterThanOrEqual(500);
  expect(endMs).toBeGreaterThan(150);
  expect(ms).toBeLessThan(10_000);
});

test('of a session that failed before it changed anything, nothing is said to be restored', async () => {
  const events = await ending(true, { isTakenOver: false });
  expect(events.map(({ type }) => type)).toEqual(['controller.output']);
});
