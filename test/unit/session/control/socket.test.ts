import { mkdtemp, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DevloopError } from '../../../../src/errors.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { notice } from '../../../../src/report/notices/catalogue.ts';
import { askSession } from '../../../../src/session/control/client.ts';
import { type Handlers, socketPath } from '../../../../src/session/control/requests.ts';
import { openSocket } from '../../../../src/session/control/socket.ts';

let directory: string;
let events: DevloopEvent[];
const emit = (event: DevloopEvent): void => void events.push(event);
const { signal } = new AbortController();

beforeEach(async () => {
  events = [];
  directory = await mkdtemp(join(tmpdir(), 'control-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const open = (handlers: Partial<Handlers>, at = directory): Promise<AsyncDisposable> =>
  openSocket(at, handlers, emit);
const ask = (limitMs = 5_000) => askSession({ id: 's', directory }, 'release', {}, { emit, signal, limitMs });
const send = (bytes: string): Promise<string> => text(connect(socketPath(directory)).end(bytes));

const WAIT = notice('login.output', { line: 'wait' });

it('passes on the answer, and the events before it; only this user can connect', async () => {
  await using _ = await open({
    release(_, caller) {
      caller.emit(WAIT);
      return { waiting: 3 };
    },
  });
  expect(await ask()).toEqual({ waiting: 3 });
  expect(events).toEqual([WAIT]);
  expect((await stat(socketPath(directory))).mode & 0o777).toBe(0o600);
});

it('passes on an error with its code and hint', async () => {
  await using _ = await open({
    release() {
      throw new DevloopError('session.not-ready', 'Session s is starting.', { hint: 'Wait.' });
    },
  });
  await expect(ask()).rejects.toMatchObject({ code: 'session.not-ready', hint: 'Wait.' });
});

it.each([
  ['no JSON', 'hello\n'],
  ['no object', '7\n'],
  ['of another version', '{"v":2,"do":"explode"}\n'],
  ['the name of something that every object has', '{"do":"toString"}\n'],
  ['cut off', '{"do":"hold"'],
  ['too long', 'x'.repeat(2 ** 20 + 1)],
])('answers a request that is %s with an error, and the next one as ever', async (_, bytes) => {
  await using _socket = await open({ release: () => ({ waiting: 0 }) });
  const reply = await send(bytes).catch(() => '');
  if (reply !== '') expect(JSON.parse(reply)).toMatchObject({ error: { code: 'usage.invalid' } });
  expect(await ask()).toEqual({ waiting: 0 });
});

it('cannot be asked without a socket, when the session ends meanwhile, or does not answer in time', async () => {
  const refused = { code: 'session.not-ready' };
  await expect(ask()).rejects.toMatchObject(refused);
  const socket = await open({ release: () => new Promise(() => {}) });
  await expect(ask(50)).rejects.toMatchObject(refused);
  const asked = ask();
  asked.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  await socket[Symbol.asyncDispose]();
  await expect(asked).rejects.toMatchObject(refused);
});

it('sends what it knows when the session ends, as how it has ended', async () => {
  const ended = Promise.withResolvers<{ waiting: number }>();
  const socket = await open({ release: () => ended.promise });
  const asked = ask();
  await new Promise((resolve) => setTimeout(resolve, 20));
  ended.resolve({ waiting: 7 });
  await socket[Symbol.asyncDispose]();
  expect(await asked).toEqual({ waiting: 7 });
});

it('is not asked for a command that was interrupted before', async () => {
  await using _ = await open({ release: () => new Promise(() => {}) });
  const interrupted = { emit, signal: AbortSignal.abort(new Error('SIGINT')) };
  await expect(askSession({ id: 's', directory }, 'release', {}, interrupted)).rejects.toThrow('SIGINT');
});

it('tells the handler when the other process is gone', async () => {
  const gone = Promise.withResolvers<void>();
  await using _ = await open({
    release: (_, caller) =>
      new Promise((resolve) => {
        caller.signal.addEventListener('abort', () => resolve({ waiting: 0 }));
        caller.signal.addEventListener('abort', () => gone.resolve());
      }),
  });
  await ask(50).catch(() => {});
  await gone.promise;
});

it('says when its path is too long, and the session goes on without it', async () => {
  await using _ = await open({}, join(directory, 'x'.repeat(100)));
  expect(events).toMatchObject([
    { code: 'session.no-socket', values: { cause: expect.stringContaining('103') } },
  ]);
});
