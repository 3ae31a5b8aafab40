import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { startController } from '../../../src/controller/process.ts';
import type { ControllerCommand } from '../../../src/controller/spawn-waiting.ts';
import { createStandBy, type StandBy } from '../../../src/controller/stand-by.ts';
import { canPlace } from '../../../src/machine/mount-namespace.ts';
import { eventually } from '../../support/eventually.ts';
import { directoryWith } from './support/places.ts';

const command: ControllerCommand = { command: ['echo', 'begun'], cwd: '/', env: { PATH: process.env.PATH! } };

function standBy(): StandBy {
  const one = createStandBy();
  onTestFinished(() => one[Symbol.dispose]());
  return one;
}

test('becomes exactly what it was made for, when that starts', async () => {
  const one = standBy();
  one.make(command);
  const waiting = one.take({ ...command })!;
  expect(waiting.child.pid).toBeDefined();
  const controller = startController({ ...command, standBy: waiting }, () => {});
  expect(controller.pid).toBe(waiting.child.pid);
  expect(await controller.exited).toEqual({ code: 0, signal: null, isGone: true });
  expect(controller.lastLines()).toEqual(['begun']);
  expect(one.take(command)).toBeUndefined();
});

test.each<[string, (one: StandBy, run: ControllerCommand) => unknown]>([
  ['another command is started', (one, run) => one.take({ ...run, env: {} })],
  ['another one is made', (one) => one.make(command)],
  ['nothing is started any more', (one) => one[Symbol.dispose]()],
])('ends without having begun where %s', async (_, next) => {
  const file = join(await directoryWith(), 'begun');
  const run = { ...command, command: ['touch', file] };
  const one = standBy();
  one.make(run);
  expect(await waitingFor(file)).toHaveLength(1);
  expect(next(one, run)).toBeUndefined();
  await eventually(async () => expect(await waitingFor(file)).toEqual([]));
  expect(existsSync(file)).toBe(false);
});

test('is not taken where somebody has killed it', async () => {
  const file = join(await directoryWith(), 'begun');
  const run = { ...command, command: ['touch', file] };
  const one = standBy();
  one.make(run);
  process.kill((await waitingFor(file))[0]!, 'SIGKILL');
  await eventually(async () => expect(await waitingFor(file)).toEqual([]));
  expect(one.take(run)).toBeUndefined();
});

/** The processes with this word among their arguments. */
async function waitingFor(word: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,args=']);
  const lines = stdout.split('\n').filter((line) => line.includes(word));
  return lines.map((line) => Number.parseInt(line, 10));
}

test.runIf(await canPlace())('has put the files in their places when it begins', async () => {
  const from = join(await directoryWith({ own: 'pod' }), 'own');
  const to = join(await directoryWith(), 'no', 'such', 'directory', 'own');
  const placed = { files: [{ from, to }], scratch: await directoryWith() };
  const run = { ...command, command: ['cat', to], placed };
  const one = standBy();
  one.make(run);
  const controller = startController({ ...run, standBy: one.take(run) }, () => {});
  expect(await controller.exited).toEqual({ code: 0, signal: null, isGone: true });
  expect(controller.lastLines()).toEqual(['pod']);
});
