import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createEmbeddedSession } from '../../../src/mcp/embedded-session.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { isRunning } from '../../support/is-running.ts';

const READY = [
  { type: 'note', code: 'embedded.started', values: { kubeconfig: '/k' }, message: '' },
  { type: 'session.started', session: 'a', context: 'c', targets: [] },
  { type: 'controller.output', stream: 'stdout', line: 'many' },
  { type: 'session.ready', session: 'a', ms: 1 },
];

/** A devloop that prints these events, says its pid in a note, and then does this. */
function sessionOf(events: object[], then = '') {
  const pid = '{ type: "note", code: "pid", values: { pid: process.pid }, message: "" }';
  const script = `
    const print = (event) => console.log(JSON.stringify(event));
    process.once('disconnect', () => { print({ type: 'session.stopping', reason: 'x' }); setTimeout(() => process.exit(130), 50); });
    setInterval(() => {}, 1000);
    print(${pid}); ${JSON.stringify(events)}.forEach(print); ${then}`;
  const own = createEmbeddedSession([process.execPath, '-e', script, '--'], { cwd: '/', env: process.env });
  onTestFinished(() => own[Symbol.asyncDispose]());
  const told: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void told.push(event);
  const start = (ms = 30_000) => own.start(ms, { emit, signal: new AbortController().signal });
  const pidOf = () => (told[0] as { values: { pid: number } } & DevloopEvent).values.pid;
  const types = () => told.slice(1).map((event) => ('code' in event ? event.code : event.type));
  return { own, emit, told, start, pidOf, types };
}

test('it is ready with its cluster, and ends when it is asked to, however often', async () => {
  const { own, emit, start, pidOf, types } = sessionOf(READY);
  await expect(own.stop(emit)).rejects.toMatchObject({ code: 'session.not-found' });
  await start();
  expect(own.cluster()).toEqual({ kubeconfig: '/k', context: 'c' });
  expect(types()).toEqual(['embedded.started', 'session.started', 'session.ready']);
  await Promise.all([own.stop(emit), own[Symbol.asyncDispose](), own[Symbol.asyncDispose]()]);
  expect(await isRunning(pidOf())).toBe(false);
  expect(types().slice(3)).toEqual(['session.stopping', 'mcp.ended']);
  expect(own.isStarted()).toBe(false);
});

test('one that takes long is waited for again, and the next start after its end is another one', async () => {
  const late = `setTimeout(() => ${JSON.stringify(READY)}.forEach(print), 200);`;
  const { own, emit, start, told, types } = sessionOf([], late);
  await start(1);
  expect(told).toMatchObject([{ code: 'mcp.starting' }]);
  expect(own.isStarted()).toBe(true);
  expect(own.cluster()).toBeUndefined();
  await start();
  expect(types().at(-1)).toBe('session.ready');
  const stopping = own.stop(emit);
  told.length = 0;
  await start();
  await stopping;
  expect(own.cluster()).toBeDefined();
});

test('the error with which it ends is that of the tool', async () => {
  const error = { type: 'error', code: 'controller.build-failed', message: 'm', hint: 'h', exitCode: 6 };
  const { start, own, types } = sessionOf([error], 'process.exit(6)');
  await expect(start()).rejects.toMatchObject({ code: 'controller.build-failed', message: 'm', hint: 'h' });
  expect(types()).toEqual([]);
  expect(own.isStarted()).toBe(false);
  const silent = sessionOf([], 'console.error("out of memory"); process.exit(9)');
  await expect(silent.start()).rejects.toMatchObject({ message: expect.stringContaining('out of memory') });
});

test('one that ends by itself later is said to have ended, once, with its error', async () => {
  const error = { type: 'error', code: 'session.lost', message: 'm', exitCode: 4 };
  const { own, emit, start, types } = sessionOf(
    READY,
    `setTimeout(() => { print(${JSON.stringify(error)}); process.exit(4); }, 300);`,
  );
  await start();
  const before = types().length;
  while (own.isStarted()) await setTimeout(20);
  own.tellEnd(emit);
  own.tellEnd(emit);
  expect(types().slice(before)).toEqual(['session.lost', 'mcp.gone']);
});
