import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { recoverSessions } from '../../../src/session/start/recover.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

it('says so where a session of this machine cannot be stopped, and takes over all the same', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  // Nothing says when it started, so it may be another process.
  const holder = { pid: child.pid, processStart: '', health: 'serving' };
  const living = [{ sessionId: 's1', identity: 'ann@laptop', holder, alive: true, local: true }];
  const events: DevloopEvent[] = [];
  const signal = new AbortController().signal;
  const command = {
    context: { api: fakeCluster().api, config: {}, wanted: { services: [] } },
    options: {},
    io: { emit: (event: DevloopEvent) => events.push(event), signal, env: {} },
  };
  const found = {
    target: { namespace: 'shop', services: [] },
    plan: { routes: [] },
    facts: { groups: new Set() },
  };
  const discovered = { ...found, inTheWay: { sessions: ['s1'], living } };
  // What comes after the recovery is not of interest here.
  await recoverSessions(command as never, discovered as never).catch(() => {});
  expect(events).toMatchObject([
    {
      type: 'warning',
      message: expect.stringContaining('s1 of ann@laptop'),
      hint: expect.stringContaining(String(child.pid)),
    },
    { type: 'note', message: expect.stringContaining('s1') },
  ]);
  child.kill();
  await exited;
});
