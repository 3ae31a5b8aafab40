import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Holder } from '../../../src/cluster/takeover/lease.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import { healthAfter, STARTING, wordsFor } from '../../../src/session/context/health.ts';
import { stopLocalSession } from '../../../src/session/end/stop-local.ts';

const ending = healthAfter(STARTING, { type: 'session.stopping', reason: 'SIGINT' }, []);

it.each([
  ['is asked to', 'serving', 'SIGTERM'],
  ['is not asked twice', wordsFor(ending), null],
])('a session of this machine ends, and %s', async (_what, health, signal) => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 1000)'], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const processStart = (await startTimeOf(child.pid!))!;
  const holder = { pid: child.pid, processStart, health } as Holder;
  const io = { emit: () => {}, signal: new AbortController().signal, env: {}, cwd: '/' };
  const session = { sessionId: 's1', identity: 'x', holder, alive: true, local: true };
  expect(await stopLocalSession(session, io)).toBe(true);
  expect((await exited)[1]).toBe(signal);
});

it.each([
  ['that has its pid by now', (start: string) => `${start}0`, true],
  ['that may be another one', () => '', false],
])('a process %s is not signalled', async (_what, startOf, isGone) => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 1000)'], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const holder = {
    pid: child.pid,
    processStart: startOf(startTimeOf(child.pid!)!),
    health: 'serving',
  } as Holder;
  const io = { emit: () => {}, signal: new AbortController().signal, env: {}, cwd: '/' };
  const session = { sessionId: 's1', identity: 'x', holder, alive: true, local: true };
  expect(await stopLocalSession(session, io)).toBe(isGone);
  expect((await exited)[1]).toBeNull();
});
