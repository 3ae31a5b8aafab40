import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
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

it.each([
  ['of this checkout', 0],
  ['of another one, which it names', 1],
])('holds the only session of this machine: %s', async (_, notes) => {
  const cwd = await mkdtemp(join(state, 'here-'));
  const checkout = notes === 0 ? cwd : '/src/shop';
  const env = { XDG_STATE_HOME: state };
  const directory = await claimDirectory(await thisMachine(env), 'abcd1234', { checkout });
  const server = createServer((socket) => void socket.end('{"answer":{}}\n'));
  await once(server.listen({ path: socketPath(directory) }), 'listening');
  try {
    const events: DevloopEvent[] = [];
    const emit = (event: DevloopEvent): void => void events.push(event);
    await hold({ on: true }, { cwd, env, emit, signal: new AbortController().signal });
    const note = { type: 'note', message: expect.stringMatching(/abcd1234 .*\/src\/shop/) };
    expect(events).toEqual([...Array(notes).fill(note), { type: 'reviews.held', session: 'abcd1234' }]);
  } finally {
    server.close();
  }
});
