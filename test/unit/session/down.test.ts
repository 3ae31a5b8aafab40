import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Lease, Service } from '../../../src/cluster/api/objects.ts';
import { SESSION_LABEL, UNDO_ANNOTATION } from '../../../src/cluster/names.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { Io } from '../../../src/session/context/options.ts';
import { down } from '../../../src/session/down.ts';
import { type FakeApiServer, fakeApiServer } from '../../support/fake-api-server.ts';
import { directoryWith } from '../controller/support/places.ts';

async function ioWith(
  server: FakeApiServer,
  files: Record<string, string> = {},
  { signal } = new AbortController(),
) {
  const directory = await directoryWith({ config: JSON.stringify(server.kubeconfig), ...files });
  const events: DevloopEvent[] = [];
  const io: Io = {
    emit: (event) => void events.push(event),
    signal,
    env: { KUBECONFIG: join(directory, 'config'), XDG_STATE_HOME: directory, HOME: directory },
    cwd: directory,
  };
  return { io, events };
}

it('of several sessions that cannot be restored, each is named', async () => {
  await using server = await fakeApiServer();
  for (const session of ['s1', 's2', 's3']) {
    const metadata = { name: `hook-${session}`, namespace: 'shop', labels: { [SESSION_LABEL]: session } };
    server.cluster.put('Service', { metadata });
  }
  const { io, events } = await ioWith(server);
  // Without a Lease, nothing shows whether a session is alive.
  await expect(down({ given: {}, takeOver: false, dryRun: false }, io)).rejects.toMatchObject({
    ...{ code: 'session.held', message: expect.stringContaining('Service shop/hook-s1') },
  });
  const named = (name: string) =>
    expect.objectContaining({
      code: 'error.further',
      values: expect.objectContaining({ error: 'session.held', cause: expect.stringContaining(name) }),
    });
  expect(events).toEqual(
    expect.arrayContaining([named('Service shop/hook-s2'), named('Service shop/hook-s3')]),
  );
});

it('a namespace that is gone does not keep anybody from restoring the rest, unless it was typed', async () => {
  await using server = await fakeApiServer();
  const config = 'namespace: shop\nservice: shop/hook\n';
  const { io, events } = await ioWith(server, { 'devloop.yaml': config });
  await down({ given: {}, takeOver: false, dryRun: false }, io);
  expect(events.at(-1)).toMatchObject({
    code: 'restore.nothing',
    values: { held: [] },
  });
  const typed = { given: { namespace: 'shop' }, takeOver: false, dryRun: false };
  await expect(down(typed, io)).rejects.toMatchObject({ code: 'target.not-found' });
});

it('sessions are judged side by side', async () => {
  await using server = await fakeApiServer();
  const { cluster } = server;
  const sessions = ['s1', 's2', 's3'];
  for (const session of sessions) {
    const labels = { [SESSION_LABEL]: session };
    cluster.put('Service', { metadata: { name: session, namespace: 'shop', labels } });
    const metadata = { name: `devloop.service.${session}`, namespace: 'shop', labels };
    cluster.put<Lease>('Lease', { metadata, spec: { holderIdentity: session, renewTime: '' } });
  }
  const interrupt = new AbortController();
  const { io, events } = await ioWith(server, {}, interrupt);
  const ending = down({ given: {}, takeOver: false, dryRun: false }, io).catch(() => {});
  // Each Lease is watched for 15 s.
  await vi.waitFor(
    () => {
      const watched = events.flatMap((event) => (event.type === 'waiting' ? [event.for] : []));
      expect(new Set(watched).size).toBe(sessions.length);
    },
    { timeout: 10_000 },
  );
  interrupt.abort();
  await ending;
}, 20_000);

it('a session that is renewed again while others are restored is left alone', async () => {
  await using server = await fakeApiServer();
  const { cluster, writes } = server;
  const fields = [{ path: ['spec', 'selector'], before: { app: 'shop' } }];
  const annotations = { [UNDO_ANNOTATION]: JSON.stringify({ v: 1, fields }) };
  for (const session of ['s1', 's2']) {
    const labelled = { namespace: 'shop', labels: { [SESSION_LABEL]: session } };
    cluster.put<Service>('Service', {
      metadata: { ...labelled, name: session, annotations },
      spec: { ports: [] },
    });
    const spec = { holderIdentity: `holder of ${session}`, renewTime: '2026-01-01T00:00:00.000000Z' };
    cluster.put<Lease>('Lease', { metadata: { ...labelled, name: `devloop.service.${session}` }, spec });
  }
  const createAgain = (session: string): void =>
    cluster.edit<Lease>('Lease', `devloop.service.${session}`, 'shop', ({ metadata }) => {
      metadata.uid = 'created again';
    });
  // The first session is being restored, and the second one was judged dead ten seconds earlier.
  writes.push = (...some) => {
    cluster.edit<Lease>('Lease', 'devloop.service.s2', 'shop', ({ spec }) => {
      spec.renewTime = '2026-01-01T09:00:00.000000Z';
    });
    return Array.prototype.push.apply(writes, some);
  };
  vi.useFakeTimers({ toFake: ['performance'] });
  const began = performance.now();
  const clock = setInterval(() => {
    vi.advanceTimersByTime(250);
    if (performance.now() - began > 10_000) createAgain('s1');
  }, 50);
  onTestFinished(() => {
    clearInterval(clock);
    vi.useRealTimers();
  });
  const { io, events } = await ioWith(server);
  await expect(down({ given: {}, takeOver: false, dryRun: false }, io)).rejects.toThrow('shop/s1');
  expect(writes.length).toBeGreaterThan(0);
  expect(writes.filter((one) => one.includes('s2'))).toEqual([]);
  const cause = expect.stringContaining('holder of s2');
  const values = expect.objectContaining({ cause });
  expect(events).toContainEqual(expect.objectContaining({ code: 'error.further', values }));
}, 60_000);

it('a session that has left only a Lease comes last, since anybody can create one', async () => {
  await using server = await fakeApiServer();
  const { cluster } = server;
  const labelled = (session: string, name: string) => ({
    ...{ name, namespace: 'shop', labels: { [SESSION_LABEL]: session } },
  });
  cluster.put<Lease>('Lease', { metadata: labelled('s1', 'devloop.service.other'), spec: {} });
  const fields = [{ path: ['spec', 'selector'], before: { app: 'shop' } }];
  const annotations = { [UNDO_ANNOTATION]: JSON.stringify({ v: 1, fields }) };
  const metadata = { ...labelled('s2', 'hook'), annotations };
  cluster.put<Service>('Service', { metadata, spec: { ports: [] } });
  const { io, events } = await ioWith(server);
  await expect(down({ given: {}, takeOver: true, dryRun: false }, io)).rejects.toMatchObject({
    message: expect.stringContaining('Service shop/hook'),
  });
  const values = expect.objectContaining({ cause: expect.stringContaining('s1') });
  const other = expect.objectContaining({ code: 'error.further', values });
  expect(events).toContainEqual(other);
}, 20_000);
