import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DevloopError } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';
import type { Io } from '../../../src/session/context/options.ts';
import { assertForSeveral, planEach, upEach } from '../../../src/session/up-each.ts';

const READY = { type: 'session.ready', session: 's', ms: 1 } as const;
const INTERRUPTED = new DevloopError('interrupted', 'Interrupted.');

interface Subject {
  io: Io;
  /** What happened, in order. */
  log: string[];
  interrupt(): void;
}

function subject(): Subject {
  const log: string[] = [];
  const interrupting = new AbortController();
  const io: Io = {
    emit: (event, deployment) =>
      log.push(`${deployment}: ${'message' in event ? event.message : event.type}`),
    signal: interrupting.signal,
    env: {},
    cwd: '/',
  };
  return { io, log, interrupt: () => interrupting.abort('SIGINT') };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test('the next Deployment is taken over when the one before it is ready, and Ctrl-C ends all', async () => {
  const { io, log, interrupt } = subject();
  await upEach(['a', 'b'], io, async (deployment, { emit, signal }) => {
    log.push(`${deployment} begins`);
    await Promise.resolve();
    emit(READY);
    if (deployment === 'b') setImmediate(interrupt);
    await aborted(signal);
    log.push(`${deployment} ends`);
  });
  expect(log).toEqual(['a begins', 'a: session.ready', 'b begins', 'b: session.ready', 'a ends', 'b ends']);
});

test('what one is planned with is shown only if it is refused, and then no other is planned', async () => {
  const { io, log } = subject();
  const planned: string[] = [];
  const planning = planEach(['a', 'b', 'c'], io, async (deployment, { emit }) => {
    planned.push(deployment);
    emit(notice('login.output', { line: 'found' }));
    if (deployment === 'b') throw new DevloopError('port.in-use', 'b is refused');
  });
  await expect(planning).rejects.toThrow('b is refused');
  expect([planned, log]).toEqual([['a', 'b'], ['b: found']]);
});

test('one that fails ends the others, and its error is that of all', async () => {
  const { io, log } = subject();
  const failing = upEach(['a', 'b', 'c'], io, async (deployment, { emit, signal }) => {
    log.push(`${deployment} begins`);
    if (deployment === 'b') throw new DevloopError('port.in-use', 'b failed');
    emit(READY);
    await aborted(signal);
    throw INTERRUPTED;
  });
  await expect(failing).rejects.toThrow('b failed');
  expect(log).toEqual(['a begins', 'a: session.ready', 'b begins']);
});

test('what another one could not restore is a warning', async () => {
  const { io, log } = subject();
  const failing = upEach(['a', 'b'], io, async (deployment, { emit, signal }) => {
    if (deployment === 'b') throw new DevloopError('port.in-use', 'b failed');
    emit(READY);
    await aborted(signal);
    throw new DevloopError('undo.incomplete', 'a was not restored');
  });
  await expect(failing).rejects.toThrow('b failed');
  expect(log.at(-1)).toBe('a: a was not restored');
});

test('a dry run, which is never ready, goes on with the next', async () => {
  const { io, log } = subject();
  await upEach(['a', 'b'], io, async (deployment) => void log.push(deployment));
  expect(log).toEqual(['a', 'b']);
});

test('settings of devloop.yaml that are about one controller are refused', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-each-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const write = (text: string): Promise<void> => writeFile(join(directory, 'devloop.yaml'), text);
  await write('controller: {watch: ["."]}\n');
  await assertForSeveral(directory);
  await write('service: shop/hook\ncontroller: {run: [make, run]}\n');
  await expect(assertForSeveral(directory)).rejects.toMatchObject({
    code: 'usage.invalid',
    message: expect.stringContaining('service, controller.run'),
  });
});

test('what each session finds in the manifests of their checkout is said once, and again after it has changed', async () => {
  const { io, interrupt } = subject();
  const said: string[] = [];
  const emit: Io['emit'] = (event, deployment) => {
    if (event.type === 'manifest') said.push(`${deployment}: ${event.is} ${event.object.name}`);
  };
  const found = (is: 'missing' | 'same', name: string): DevloopEvent => ({
    type: 'manifest',
    object: { kind: 'ClusterRole', name },
    is,
    differences: [],
  });
  await upEach(['a', 'b'], { ...io, emit }, async (deployment, { emit, signal }) => {
    emit(found('missing', 'x'));
    if (deployment === 'b') for (const is of ['same', 'missing'] as const) emit(found(is, 'x'));
    emit(found('missing', deployment));
    emit(READY);
    if (deployment === 'b') setImmediate(interrupt);
    await aborted(signal);
  });
  expect(said).toEqual(['a: missing x', 'a: missing a', 'b: same x', 'b: missing x', 'b: missing b']);
});
