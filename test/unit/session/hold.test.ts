import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { socketPath } from '../../../src/session/control/requests.ts';
import { hold } from '../../../src/session/hold.ts';

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'state-'));
});
afterEach(() => rm(state, { recursive: true }));

/** A session on this machine that answers every request. */
async function startSession(id: string, checkout: string): Promise<AsyncDisposable> {
  const directory = await claimDirectory(await thisMachine({ XDG_STATE_HOME: state }), id, { checkout });
  const server = createServer((socket) => void socket.end('{"answer":{}}\n'));
  await once(server.listen({ path: socketPath(directory) }), 'listening');
  return { [Symbol.asyncDispose]: async () => void server.close() };
}

async function holdIn(cwd: string): Promise<DevloopEvent[]> {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const { signal } = new AbortController();
  await hold({ on: true }, { cwd, env: { XDG_STATE_HOME: state }, emit, signal });
  return events;
}

it.each([
  ['of this checkout', 0],
  ['of another one, which it names', 1],
])('holds the only session of this machine: %s', async (_where, notes) => {
  const cwd = await mkdtemp(join(state, 'here-'));
  const checkout = notes === 0 ? cwd : '/src/shop';
  await using _ = await startSession('abcd1234', checkout);
  const note = { code: 'session.elsewhere', values: { session: 'abcd1234', checkout } };
  expect(await holdIn(cwd)).toMatchObject([
    ...Array(notes).fill(note),
    { type: 'reviews.held', session: 'abcd1234' },
  ]);
});

it('holds the session that was started with the devloop.yaml of this folder, not one of the folder above', async () => {
  const above = await mkdtemp(join(state, 'above-'));
  const cwd = join(above, 'operator');
  await mkdir(join(above, '.git'));
  await mkdir(cwd);
  await writeFile(join(cwd, 'devloop.yaml'), '');
  await using sessions = new AsyncDisposableStack();
  sessions.use(await startSession('aaaa1111', above));
  sessions.use(await startSession('bbbb2222', cwd));
  expect(await holdIn(cwd)).toEqual([{ type: 'reviews.held', session: 'bbbb2222' }]);
  expect(await holdIn(above)).toEqual([{ type: 'reviews.held', session: 'aaaa1111' }]);
});
