import { expect, onTestFinished, test } from 'vitest';
import { startController } from '../../../src/controller/process.ts';
import { isRunning } from '../../support/is-running.ts';
import { recordEvents } from './support/events.ts';
import { directoryWith, program } from './support/places.ts';

async function start(command: string[]) {
  const recorder = recordEvents();
  const controller = startController({ command, cwd: await directoryWith(), env: {} }, recorder.emit);
  onTestFinished(async () => void (await controller.stop({ graceMs: 0 })));
  return { recorder, controller };
}

test('lines arrive whole, a long one is cut, and the last needs no newline', async () => {
  const { recorder, controller } = await start(program('prints.mjs'));
  expect(await controller.exited).toEqual({ code: 0, signal: null });
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
  expect(await controller.stop({ graceMs: 10_000 })).toEqual({ code: 0, signal: null });
  expect(controller.lastLines()).toEqual(['running', 'ending']);
});

test('SIGTERM is sent once, however often stop is called, and SIGKILL follows', async () => {
  const { recorder, controller } = await start(program('ignores-sigterm.mjs'));
  await recorder.waitFor('controller.output', ({ line }) => line === 'running');
  const stops = [controller.stop({ graceMs: 200 }), controller.stop({ graceMs: 200 })];
  await recorder.waitFor('controller.output', ({ line }) => line === 'SIGTERM 1');
  stops.push(controller.stop({ graceMs: 200 }));
  expect(await Promise.all(stops)).toEqual(Array(3).fill({ code: null, signal: 'SIGKILL' }));
  expect(controller.lastLines()).toEqual(['running', 'SIGTERM 1']);
  expect(await isRunning(controller.pid!)).toBe(false);
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
  expect(await controller.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await isRunning(Number(line.split(' ')[1]))).toBe(false);
});

test('a program that cannot be started has exited, with the reason', async () => {
  const { recorder, controller } = await start(['/nonexistent/manager']);
  expect(await controller.exited).toMatchObject({ code: null, failure: expect.stringContaining('ENOENT') });
  expect(await controller.stop({ graceMs: 0 })).toMatchObject({ code: null });
  expect(recorder.events).toEqual([]);
});
