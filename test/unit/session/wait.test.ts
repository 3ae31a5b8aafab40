import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import type { Handlers } from '../../../src/session/control/requests.ts';
import { openSocket } from '../../../src/session/control/socket.ts';
import { wait } from '../../../src/session/wait.ts';
import { partly } from '../../support/partly.ts';

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'state-'));
});
afterEach(() => rm(state, { recursive: true }));

async function startSession(id: string, checkout: string, handlers: Partial<Handlers>) {
  const directory = await claimDirectory(await thisMachine({ XDG_STATE_HOME: state }), id, { checkout });
  return await openSocket(directory, handlers, () => {});
}

async function waitIn(cwd: string, restarts = false): Promise<DevloopEvent[]> {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const { signal } = new AbortController();
  await wait({ limitMs: 1_000, restarts }, { cwd, env: { XDG_STATE_HOME: state }, emit, signal });
  return events;
}

it('asks for a restart first if one is wanted, and says which build serves, of each session of the checkout', async () => {
  const cwd = await mkdtemp(join(state, 'here-'));
  const asked: string[] = [];
  const now = partly<Awaited<ReturnType<Handlers['state']>>>({ build: { is: 'current', id: '3f2a91c' } });
  const answer = (name: string) => () => {
    asked.push(name);
    return now;
  };
  const handlers = { restart: answer('restart'), wait: answer('wait') };
  await using _first = await startSession('aaaa1111', cwd, handlers);
  expect(await waitIn(cwd)).toMatchObject([
    { type: 'session.serving', session: 'aaaa1111', build: '3f2a91c' },
  ]);
  expect(asked.splice(0)).toEqual(['wait']);
  await using _second = await startSession('bbbb2222', cwd, handlers);
  expect(await waitIn(cwd, true)).toHaveLength(2);
  expect(asked.filter((name) => name === 'restart')).toHaveLength(2);
});

it('passes on what the session says that it waits for, and nothing else then', async () => {
  const cwd = await mkdtemp(join(state, 'here-'));
  const now = partly<Awaited<ReturnType<Handlers['state']>>>({ build: { is: 'current' } });
  const said: DevloopEvent = { type: 'waiting', for: 'the build', seconds: 1 };
  const handlers: Partial<Handlers> = {
    async wait(_, { emit }) {
      emit(said);
      await sleep(1_200);
      return now;
    },
  };
  await using _session = await startSession('aaaa1111', cwd, handlers);
  expect(await waitIn(cwd)).toMatchObject([said, { type: 'session.serving' }]);
});

it('fails without a session, with two of other checkouts, and with one of a version that cannot be asked', async () => {
  const cwd = await mkdtemp(join(state, 'here-'));
  await expect(waitIn(cwd)).rejects.toMatchObject({ code: 'session.not-found' });
  await using _old = await startSession('aaaa1111', '/src/shop', {});
  await expect(waitIn(cwd)).rejects.toMatchObject({ code: 'usage.invalid', message: /`wait`/ });
  await using _other = await startSession('bbbb2222', '/src/other', {});
  await expect(waitIn(cwd)).rejects.toMatchObject({ code: 'session.not-found', hint: /--session/ });
});
