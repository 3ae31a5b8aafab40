import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Holder } from '../../../src/cluster/takeover/lease.ts';
import { isSuspended, startTimeOf } from '../../../src/machine/system.ts';
import { OWNER } from '../../../src/session/context/local-sessions.ts';
import { healthOf, nothingYet, observedAfter } from '../../../src/session/context/observed.ts';
import { stopLocalSession } from '../../../src/session/end/stop-local.ts';

let stateDirectory: string;
beforeEach(async () => {
  stateDirectory = await mkdtemp(join(tmpdir(), 'sessions-'));
});
afterEach(() => rm(stateDirectory, { recursive: true }));

/** As `up` writes it for others. */
async function recordSession(pid: number, processStart: string): Promise<void> {
  await mkdir(join(stateDirectory, '0a1b2c3d'));
  const owner = { host: 'here', pid, processStart, checkout: '/' };
  await writeFile(join(stateDirectory, '0a1b2c3d', OWNER), JSON.stringify(owner));
}

const ending = observedAfter(nothingYet([]), { type: 'session.stopping', reason: 'SIGINT' });

it.each([
  ['is asked to', 'serving', 'SIGTERM'],
  ['is not asked twice', healthOf(ending), null],
])('a session of this machine ends, and %s', async (_what, health, signal) => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 1000)'], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const processStart = (await startTimeOf(child.pid!))!;
  await recordSession(child.pid!, processStart);
  const holder = { pid: child.pid, processStart, health } as Holder;
  const io = { emit: () => {}, signal: new AbortController().signal, env: {}, cwd: '/' };
  const session = { sessionId: '0a1b2c3d', identity: 'x', holder, alive: true, local: true };
  expect(await stopLocalSession(session, { stateDirectory }, io)).toBe(true);
  expect((await exited)[1]).toBe(signal);
});

it('a suspended session continues, and ends', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const processStart = startTimeOf(child.pid!)!;
  await recordSession(child.pid!, processStart);
  child.kill('SIGSTOP');
  await expect.poll(() => isSuspended(child.pid!)).toBe(true);
  const holder = { pid: child.pid, processStart, health: 'serving' } as Holder;
  const io = { emit: () => {}, signal: AbortSignal.timeout(20_000), env: {}, cwd: '/' };
  const session = { sessionId: '0a1b2c3d', identity: 'x', holder, alive: true, local: true };
  expect(await stopLocalSession(session, { stateDirectory }, io)).toBe(true);
  expect((await exited)[1]).toBe('SIGTERM');
});

it('a process is not signalled if others can write the record that names it', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 1000)'], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const processStart = startTimeOf(child.pid!)!;
  await recordSession(child.pid!, processStart);
  await chmod(stateDirectory, 0o777);
  const holder = { pid: child.pid, processStart, health: 'serving' } as Holder;
  const io = { emit: () => {}, signal: new AbortController().signal, env: {}, cwd: '/' };
  const session = { sessionId: '0a1b2c3d', identity: 'x', holder, alive: true, local: true };
  expect(await stopLocalSession(session, { stateDirectory }, io)).toBe(false);
  expect((await exited)[1]).toBeNull();
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
  const session = { sessionId: '0a1b2c3d', identity: 'x', holder, alive: true, local: true };
  expect(await stopLocalSession(session, { stateDirectory }, io)).toBe(isGone);
  expect((await exited)[1]).toBeNull();
});

it.each([
  ['of which there is no record', undefined],
  ['that its record does not name', 1],
])('a process %s is not signalled, whatever the Lease says', async (_what, recorded) => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 1000)'], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const processStart = (await startTimeOf(child.pid!))!;
  if (recorded !== undefined) await recordSession(recorded, processStart);
  const holder = { pid: child.pid, processStart, health: 'serving' } as Holder;
  const io = { emit: () => {}, signal: new AbortController().signal, env: {}, cwd: '/' };
  const session = { sessionId: '0a1b2c3d', identity: 'x', holder, alive: true, local: true };
  expect(await stopLocalSession(session, { stateDirectory }, io)).toBe(false);
  expect((await exited)[1]).toBeNull();
});
