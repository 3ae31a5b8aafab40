import { execFileSync } from 'node:child_process';
import {
  appendFile,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { recordingFiles } from '../../../src/reviews/recording.ts';
import { type LocalMachine, thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { createKeeper, keepOutput, keptOutputOf } from '../../../src/session/control/kept-output.ts';
import { readOutput } from '../../../src/session/control/read-output.ts';
import { type LogsOptions, logs } from '../../../src/session/logs.ts';

let state: string;
let machine: LocalMachine;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'state-'));
  machine = await thisMachine({ XDG_STATE_HOME: state });
});
afterEach(() => rm(state, { recursive: true }));

const line = (text: string) => ({ type: 'controller.output', stream: 'stderr', line: text }) as const;

async function printed(session: string, checkout: string, lines: string[]): Promise<void> {
  await using kept = await keepOutput(machine, { checkout, session }, (event) =>
    expect.unreachable(event.type),
  );
  for (const text of lines) kept.observe(line(text));
}

async function logsIn(
  cwd: string,
  options: Partial<LogsOptions> = {},
  onEvent: (event: DevloopEvent) => void = () => {},
): Promise<string[]> {
  const lines: string[] = [];
  const emit = (event: DevloopEvent): void => {
    if (event.type === 'output.line') lines.push(event.line);
    onEvent(event);
  };
  const { signal } = new AbortController();
  await logs({ follow: false, ...options }, { cwd, env: { XDG_STATE_HOME: state }, emit, signal });
  return lines;
}

it('the output of a session stays until the next one of the checkout begins, and only this user can read it', async () => {
  const cwd = await mkdtemp(join(state, 'here-'));
  await expect(logsIn(cwd)).rejects.toMatchObject({ code: 'session.not-found' });
  await printed('aaaa1111', cwd, ['one', 'two', 'three']);
  await printed('cccc3333', '/src/other', ['other']);
  const notes: string[] = [];
  const all = await logsIn(cwd, {}, (event) => void (event.type === 'note' && notes.push(event.code)));
  expect(all).toEqual(['one', 'two', 'three']);
  expect(notes).toEqual(['output.of-ended']);
  expect(await logsIn(cwd, { tail: 2 })).toEqual(['two', 'three']);
  expect(await logsIn(cwd, { sinceMs: 60_000 })).toHaveLength(3);
  expect(await logsIn(cwd, { sinceMs: -60_000 })).toEqual([]);
  const { directory } = keptOutputOf(machine, cwd, 'aaaa1111');
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect((await stat(recordingFiles(directory, 'output').newer)).mode & 0o777).toBe(0o600);
  await printed('bbbb2222', cwd, ['new']);
  expect(await logsIn(cwd)).toEqual(['new']);
  await expect(logsIn(cwd, { session: 'aaaa1111' })).rejects.toMatchObject({ code: 'session.not-found' });
});

it('what another checkout has left is removed after a week', async () => {
  await printed('cccc3333', '/src/other', ['other']);
  const { directory } = keptOutputOf(machine, '/src/other', 'cccc3333');
  const old = Date.now() / 1000 - 8 * 86_400;
  await utimes(recordingFiles(directory, 'output').newer, old, old);
  await printed('aaaa1111', '/src/shop', ['one']);
  expect(await readdir(dirname(directory))).toEqual([expect.stringContaining('aaaa1111')]);
});

it('follows the session of the checkout until it ends, and fails with two of others', async () => {
  const cwd = await mkdtemp(join(state, 'here-'));
  await printed('bbbb2222', cwd, ['of the last one']);
  const session = await claimDirectory(machine, 'aaaa1111', { checkout: cwd });
  const kept = await keepOutput(machine, { checkout: cwd, session: 'aaaa1111' }, () => {});
  kept.observe(line('one'));
  const seen = Promise.withResolvers<void>();
  const following = logsIn(cwd, { follow: true }, () => seen.resolve());
  await seen.promise;
  kept.observe(line('two'));
  await kept[Symbol.asyncDispose]();
  await rm(session, { recursive: true });
  expect(await following).toEqual(['one', 'two']);
  for (const id of ['cccc3333', 'dddd4444']) await claimDirectory(machine, id, { checkout: `/src/${id}` });
  const elsewhere = await mkdtemp(join(state, 'elsewhere-'));
  await expect(logsIn(elsewhere)).rejects.toMatchObject({ code: 'session.not-found', hint: /--session/ });
});

it('reads on where it was when the file is full and becomes the older one, and nothing that is not written whole', async () => {
  const directory = join(state, 'output');
  await mkdir(directory);
  const { older, newer } = recordingFiles(directory, 'output');
  const text = (name: string): string => `${JSON.stringify({ at: 1, stream: 'stdout', line: name })}\n`;
  const reader = readOutput({ directory });
  const next = async () => (await reader.next()).map((one) => one.line);
  expect(await next()).toEqual([]);
  await appendFile(newer, text('1') + text('2').slice(0, 5));
  expect(await next()).toEqual(['1']);
  await appendFile(newer, text('2').slice(5) + text('3'));
  await rename(newer, older);
  await appendFile(newer, text('4'));
  expect(await next()).toEqual(['2', '3', '4']);
  expect(await next()).toEqual([]);
  await appendFile(newer, 'no JSON\n{"at":"x"}\n');
  expect(await next()).toEqual([]);
});

it('loses nothing if the file becomes the older one while it is read', async () => {
  const directory = join(state, 'output');
  await mkdir(directory);
  const { older, newer } = recordingFiles(directory, 'output');
  const text = (name: string): string => `${JSON.stringify({ at: 1, stream: 'stdout', line: name })}\n`;
  const reader = readOutput({ directory });
  await appendFile(newer, text('1'));
  await reader.next();
  await appendFile(newer, text('2'));
  // Whoever opens it to read waits for a writer.
  execFileSync('mkfifo', [older]);
  await link(older, join(state, 'fifo'));
  const reading = reader.next();
  await sleep(50);
  await rename(newer, older);
  await appendFile(newer, text('3'));
  await using _ = await open(join(state, 'fifo'), 'r+');
  const lines = [...(await reading), ...(await reader.next())];
  expect(lines.map(({ line }) => line)).toEqual(['2', '3']);
});

it('lines that come faster than the disk takes them are counted in their place', async () => {
  const added: { line: string }[] = [];
  const recording = { add: (record: object) => void added.push(record as never), flush: async () => {} };
  const kept = createKeeper(recording, () => {});
  const long = 'x'.repeat(2 ** 20);
  for (let count = 0; count < 7; count++) kept.observe(line(long));
  await kept[Symbol.asyncDispose]();
  expect(added.map(({ line }) => line.slice(0, 25))).toEqual([
    ...Array(5).fill('x'.repeat(25)),
    'devloop has left out 2 li',
  ]);
});

it('a session goes on if nothing can be kept, and says so once', async () => {
  const events: DevloopEvent[] = [];
  await appendFile(join(state, 'devloop'), '');
  await using kept = await keepOutput(machine, { checkout: '/src', session: 'aaaa1111' }, (event) => {
    events.push(event);
  });
  kept.observe(line('one'));
  expect(events).toMatchObject([{ type: 'warning', code: 'output.not-kept' }]);
  expect(await readFile(join(state, 'devloop'), 'utf8')).toBe('');
});
