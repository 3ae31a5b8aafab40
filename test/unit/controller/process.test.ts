import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { startController } from '../../../src/controller/process.ts';
import { DevloopError } from '../../../src/errors.ts';
import { isRunning } from '../../support/is-running.ts';
import { recordEvents } from './support/events.ts';
import { directoryWith, fixture, program } from './support/places.ts';

async function start(command: string[]) {
  const recorder = recordEvents();
  const controller = startController({ command, cwd: await directoryWith(), env: {} }, recorder.emit);
  onTestFinished(async () => void (await controller.stop({ graceMs: 0 })));
  return { recorder, controller };
}

test('lines arrive whole, a long one is cut, and the last needs no newline', async () => {
  const { recorder, controller } = await start(program('prints.mjs'));
  expect(await controller.exited).toEqual({ code: 0, signal: null, isGone: true });
  const lines = (stream: string) =>
    recorder
      .all('controller.output')
      .filter((event) => event.stream === stream)
      .map(({ line }) => line);
  expect(lines('stderr')).toEqual(['problem']);
  const [one, two, long, last] = lines('stdout');
  expect([one, two, last]).toEqual(['one', 'two', 'last']);
  expect(long).toBe(`${'x'.repeat(65_536)} … (cut)`);
  expect(controller.lastLines()).toHaveLength(5);
});

test('SIGTERM is enough for a program that handles it', async () => {
  const { recorder, controller } = await start(program('ends-on-sigterm.mjs'));
  await recorder.waitFor('controller.output', ({ line }) => line === 'running');
  expect(await controller.stop({ graceMs: 10_000 })).toEqual({ code: 0, signal: null, isGone: true });
  expect(controller.lastLines()).toEqual(['running', 'ending']);
});

test('SIGTERM is sent once, however often stop is called, and SIGKILL follows', async () => {
  const { recorder, controller } = await start(program('ignores-sigterm.mjs'));
  await recorder.waitFor('controller.output', ({ line }) => line === 'running');
  const stops = [controller.stop({ graceMs: 200 }), controller.stop({ graceMs: 200 })];
  await recorder.waitFor('controller.output', ({ line }) => line === 'SIGTERM 1');
  stops.push(controller.stop({ graceMs: 200 }));
  expect(await Promise.all(stops)).toEqual(Array(3).fill({ code: null, signal: 'SIGKILL', isGone: true }));
  expect(controller.lastLines()).toEqual(['running', 'SIGTERM 1']);
  expect(await isRunning(controller.pid!)).toBe(false);
});

test('a descendant that left the group, and may go on working, is not gone', async () => {
  const leaves = `const { pid } = require('node:child_process').spawn('sleep', ['97'], { detached: true, stdio: 'inherit' });
    console.log('left', pid);
    process.exit(0);`;
  const { recorder, controller } = await start([process.execPath, '-e', leaves]);
  const { line } = await recorder.waitFor('controller.output', (event) => event.line.startsWith('left'));
  onTestFinished(() => void process.kill(Number(line.split(' ')[1]), 'SIGKILL'));
  expect(await controller.exited).toEqual({ code: 0, signal: null, isGone: false });
});

test('a grandchild does not outlive the controller', async () => {
  const { recorder, controller } = await start(program('leaves-grandchild.mjs'));
  const { line } = await recorder.waitFor('controller.output', (event) =>
    event.line.startsWith('grandchild'),
  );
  const grandchild = Number(line.split(' ')[1]);
  await controller.stop({ graceMs: 5000 });
  expect(await isRunning(grandchild)).toBe(false);
});

test('a grandchild does not outlive a controller that was killed', async () => {
  const { recorder, controller } = await start(program('leaves-grandchild.mjs'));
  const { line } = await recorder.waitFor('controller.output', (event) =>
    event.line.startsWith('grandchild'),
  );
  process.kill(controller.pid!, 'SIGKILL');
  expect(await controller.exited).toEqual({ code: null, signal: 'SIGKILL', isGone: true });
  expect(await isRunning(Number(line.split(' ')[1]))).toBe(false);
});

test('a program that cannot be started has exited, with the reason', async () => {
  const { recorder, controller } = await start(['/nonexistent/manager']);
  expect(await controller.exited).toMatchObject({ code: null, failure: expect.stringContaining('ENOENT') });
  expect(await controller.stop({ graceMs: 0 })).toMatchObject({ code: null });
  expect(recorder.events).toEqual([]);
});

// macOS has no limit of its own for one of them.
test.skipIf(process.platform !== 'linux').each([
  ['a variable', { TOKENS: 'x'.repeat(200_000) }, /variable TOKENS is 196 KiB/],
  [
    'all variables',
    Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`V${n}`, 'x'.repeat(100_000)])),
    /add up to/,
  ],
])(
  'what the system does not start because of the size of %s has exited, with the reason',
  async (_, env, why) => {
    const controller = startController({ command: ['true'], cwd: '/', env }, () => {});
    const failure = expect.stringMatching(why);
    expect(await controller.exited).toMatchObject({ code: null, failure, hint: expect.any(String) });
    expect(controller.pid).toBeUndefined();
    expect(await controller.stop({ graceMs: 0 })).toMatchObject({ failure });
  },
);

test.each(['before', 'after'])(
  'killed %s the record, devloop leaves no program that nobody could find',
  async (moment) => {
    const directory = await directoryWith();
    const began = join(directory, 'began');
    const script = [
      fixture('dies-while-recording.mjs'),
      moment,
      directory,
      'sh',
      '-c',
      `echo yes > ${began}; exec sleep 60`,
    ];
    const devloop = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = Number(await text(devloop.stdout));
    onTestFinished(() => {
      if (moment === 'after' && pid > 1) process.kill(-pid, 'SIGKILL');
    });
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => isRunning(pid)).toBe(moment === 'after');
    const hasBegun = await access(began).then(
      () => true,
      () => false,
    );
    expect(hasBegun).toBe(moment === 'after');
  },
);

test('a program that cannot be recorded never begins, and the cause is in its exit', async () => {
  const directory = await directoryWith();
  const command = ['sh', '-c', 'echo began; sleep 60'];
  const recorder = recordEvents();
  const full = new DevloopError('files.not-written', 'the disk is full', { hint: 'make room' });
  const controller = startController({ command, cwd: directory, env: {} }, recorder.emit, () => {
    throw full;
  });
  expect(controller.pid).toBeUndefined();
  expect(await controller.exited).toEqual({
    code: null,
    signal: null,
    failure: 'the disk is full',
    hint: 'make room',
  });
  expect(recorder.events).toEqual([]);
});

/** What a program knows about itself. `a.b` makes it start at once, without the shell. */
async function selfOf(env: Record<string, string>): Promise<Record<string, unknown>> {
  const directory = await directoryWith();
  const report = `const { readlinkSync, readFileSync } = require('node:fs');
    const { PWD, ...env } = process.env;
    const group = readFileSync('/proc/self/stat', 'utf8').replace(/^.*\\) /, '').split(' ')[2];
    const status = readFileSync('/proc/self/status', 'utf8');
    const signals = status.match(/^Sig(Blk|Ign):.*$/gm);
    const isLeader = Number(group) === process.pid;
    const files = require('node:fs').readdirSync('/proc/self/fd').filter((fd) => fd < 3);
    console.log(JSON.stringify({ env, PWD, isLeader, signals, files, stdin: readlinkSync('/proc/self/fd/0'), argv: process.argv.slice(1), cwd: process.cwd() }));
    process.kill(process.pid, 'SIGUSR2');
    setTimeout(() => {}, 10_000);`;
  const command = [process.execPath, '-e', report, '--', 'an argument', '$HOME', "it's"];
  const controller = startController({ command, cwd: directory, env }, () => {});
  const exit = await controller.exited;
  const self = JSON.parse(controller.lastLines()[0]!);
  expect(self.cwd).toBe(directory);
  expect(self.PWD).toBe(directory);
  return { ...self, exit, cwd: '', PWD: '', env: { ...self.env, 'a.b': undefined } };
}

test.skipIf(process.platform !== 'linux')(
  'the wait changes nothing for the program: stdin, signals, group, environment, arguments, exit',
  async () => {
    const env = { LEVEL: 'info', EMPTY: '', QUOTED: `a "b" 'c' $d`, LINES: 'one\ntwo' };
    const waited = await selfOf(env);
    expect(waited).toEqual(await selfOf({ ...env, 'a.b': 'c' }));
    expect(waited).toMatchObject({
      stdin: '/dev/null',
      isLeader: true,
      argv: ['an argument', '$HOME', "it's"],
      exit: { code: null, signal: 'SIGUSR2' },
    });
  },
);

test('a variable that no shell understands reaches the program', async () => {
  const command = [process.execPath, '-e', "console.log(process.env['spring.config.location'])"];
  const env = { 'spring.config.location': '/config' };
  const controller = startController({ command, cwd: await directoryWith(), env }, () => {});
  await controller.exited;
  expect(controller.lastLines()).toEqual(['/config']);
});
