import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { swapSelector } from '../../../src/cluster/takeover/service.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { recoverSessions } from '../../../src/session/start/recover.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { settingsOf } from '../../support/settings.ts';

it('says so where a session of this machine cannot be stopped, and takes over all the same', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  // Nothing shows when it started, so it may be another process.
  const holder = { pid: child.pid, processStart: '', health: 'serving' };
  const living = [{ sessionId: 's1', identity: 'ann@laptop', holder, alive: true, local: true }];
  const events: DevloopEvent[] = [];
  const signal = new AbortController().signal;
  const command = {
    context: { api: fakeCluster().api, settings: settingsOf(), wanted: { services: [] } },
    options: {},
    io: { emit: (event: DevloopEvent) => events.push(event), signal, env: {} },
  };
  const found = {
    target: { namespace: 'shop', services: [] },
    plan: { routes: [] },
    facts: { groups: new Set() },
  };
  const discovered = { ...found, inTheWay: { sessions: ['s1'], living } };
  // What comes after the recovery does not matter here.
  await recoverSessions(command as never, discovered as never).catch(() => {});
  expect(events).toMatchObject([
    {
      code: 'restore.cannot-stop',
      values: { session: 's1', holder: expect.stringContaining('ann@laptop') },
      hint: expect.stringContaining(String(child.pid)),
    },
    { code: 'restore.other-session', values: { session: 's1' } },
  ]);
  child.kill();
  await exited;
});

it.each([
  ['runs on another machine: its gateway answers until the manager does', true],
  ['is dead: nothing answers', false],
])('a session that is taken over %s', async (_, isRunning) => {
  const cluster = fakeCluster();
  const { signal } = new AbortController();
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal };
  const service = cluster.put<Service>('Service', {
    metadata: { name: 'hook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  const object = cluster.put<Workload>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas: 1, selector: {}, template: { spec: { containers: [] } } },
  });
  const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;
  await swapSelector(work, service, undefined);
  await deploymentPause.pause({ ref, object }).apply(work);
  let isReady = false;
  let wasReady: boolean | undefined;
  cluster.hook.before = (verb, what) => {
    if (verb === 'patch' && what === 'Service shop/hook') wasReady ??= isReady;
  };
  setTimeout(() => {
    isReady = true;
    cluster.edit<Workload>('Deployment', 'manager', 'shop', (one) => {
      one.status = { readyReplicas: 1 };
    });
  }, 300);
  const command = {
    context: { api: cluster.api, settings: settingsOf(), wanted: { services: [] } },
    options: { takeOver: true },
    io: { emit: () => {}, signal, env: {} },
  };
  const target = {
    namespace: 'shop',
    services: [{ service, calls: [], ports: [] }],
    manager: { ref, object, container: { name: 'manager' }, source: '' },
  };
  const living = isRunning ? [{ sessionId: 's1', identity: 'bob@desk', alive: true, local: false }] : [];
  const discovered = { target, plan: { routes: [] }, facts: {}, inTheWay: { sessions: ['s1'], living } };
  // What comes after the recovery does not matter here.
  await recoverSessions(command as never, discovered as never).catch(() => {});
  expect(cluster.read<Service>('Service', 'hook', 'shop')!.spec.selector).toEqual({ app: 'shop' });
  expect(wasReady).toBe(isRunning);
});
