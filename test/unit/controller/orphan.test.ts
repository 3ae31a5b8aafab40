import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { endOrphan, recordProcess } from '../../../src/controller/orphan.ts';
import { startController } from '../../../src/controller/process.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import { isRunning } from '../../support/is-running.ts';
import { recordEvents } from './support/events.ts';
import { directoryWith, program } from './support/places.ts';

async function orphan(name: string) {
  const directory = await directoryWith();
  const recorder = recordEvents();
  const controller = startController({ command: program(name), cwd: directory, env: {} }, recorder.emit);
  const pid = controller.pid!;
  await recorder.waitFor('controller.output');
  const startTime = (await startTimeOf(pid))!;
  return { file: join(directory, 'state', 'controller.json'), controller, pid, startTime, recorder };
}

test.each(['ends-on-sigterm.mjs', 'ignores-sigterm.mjs', 'leaves-grandchild.mjs'])(
  '%s is ended',
  async (name) => {
    const { file, controller, pid, startTime } = await orphan(name);
    await recordProcess(file, { pid, startTime, command: ['manager', '--flag'] });
    expect(await endOrphan(file, { graceMs: 300 })).toEqual({ pid, command: ['manager', '--flag'] });
    expect(await isRunning(pid)).toBe(false);
    await controller.exited;
    expect(await endOrphan(file)).toBeUndefined();
  },
);

test('another process that got the pid of the controller is not touched', async () => {
  const { file, controller, pid, startTime } = await orphan('ends-on-sigterm.mjs');
  await recordProcess(file, { pid, startTime: `${startTime}0`, command: ['manager', '--flag'] });
  expect(await endOrphan(file)).toBeUndefined();
  expect(await isRunning(pid)).toBe(true);
  await expect(readFile(file)).rejects.toThrow('ENOENT');
  await controller.stop({ graceMs: 1000 });
});

test.each(['', '{', '{"pid":1}', '{"pid":-1,"startTime":"x","command":[]}', 'null', '[]'])(
  'the record %j names no process',
  async (text) => {
    const file = join(await directoryWith(), 'controller.json');
    await writeFile(file, text);
    expect(await endOrphan(file)).toBeUndefined();
  },
);

test('a process that does not exist has no start time', async () => {
  expect(await startTimeOf(2 ** 22 + 1)).toBeUndefined();
  expect(await startTimeOf(process.pid)).toBe(await startTimeOf(process.pid));
});
