import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { embeddedHere, inEmbedded } from '../../../src/session/context/embedded-here.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { OWNER } from '../../../src/session/context/local-sessions.ts';
import type { CommonOptions } from '../../../src/session/context/options.ts';
import { claimDirectory, endOrphans } from '../../../src/session/context/session-directories.ts';
import { isUse, shorten, watchIdle } from '../../../src/session/detached.ts';
import { partly } from '../../support/partly.ts';

type Reconcile = Extract<DevloopEvent, { type: 'reconcile' }>;
const reconcile = (after: Partial<Reconcile['after'][number]>[]): DevloopEvent =>
  partly<Reconcile>({ type: 'reconcile', after });

it.each<[string, boolean, DevloopEvent]>([
  ['a save', true, { type: 'build.started', reason: ['a.go'] }],
  ['a save of a program that is not built', true, { type: 'controller.restarting', reason: ['a.py'] }],
  ['the first build', false, { type: 'build.started', reason: [] }],
  ['a review', true, partly<Extract<DevloopEvent, { type: 'review' }>>({ type: 'review', id: '1' })],
  ['a reconcile after what somebody else did', true, reconcile([{ isOwn: true }, {}])],
  ['a reconcile after an own write', false, reconcile([{ isOwn: true }])],
  ['a reconcile because of a timer', false, reconcile([])],
  ['a line of the log', false, { type: 'controller.output', stream: 'stderr', line: 'x' }],
])('%s counts as use: %s', (_what, counts, event) => {
  expect(isUse(event)).toBe(counts);
});

it('nobody is missed before the session is ready, nor while somebody uses it', async () => {
  const ended = new AbortController();
  const early = watchIdle(20, ended.signal);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(early.signal.aborted).toBe(false);
  // Longer than a busy machine keeps this process waiting, and shorter than all uses together.
  const idle = watchIdle(400, ended.signal);
  idle.begin();
  for (let use = 0; use < 100; use++) {
    idle.used();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(idle.signal.aborted).toBe(false);
  await new Promise((resolve) => idle.signal.addEventListener('abort', resolve));
  const over = watchIdle(20, ended.signal);
  over.begin();
  ended.abort();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(over.signal.aborted).toBe(false);
});

it('the output keeps its last whole lines when it is long, and what is gone does no harm', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'detached-'));
  const file = join(directory, 'up.log');
  await writeFile(file, 'one\ntwo\nthree\nfour\n');
  shorten(file, 19);
  expect(await readFile(file, 'utf8')).toBe('one\ntwo\nthree\nfour\n');
  shorten(file, 18);
  expect(await readFile(file, 'utf8')).toBe('four\n');
  await rm(directory, { recursive: true });
  shorten(file, 1);
});

it('down and status mean the embedded session of the checkout, also a killed one, unless flags name a cluster', async () => {
  const state = await mkdtemp(join(tmpdir(), 'state-'));
  const cwd = await mkdtemp(join(state, 'here-'));
  const machine = await thisMachine({ XDG_STATE_HOME: state });
  const embedded = { kubeconfig: '/k', context: 'devloop-embedded' };
  await claimDirectory(machine, 'aaaa1111', { checkout: cwd });
  await claimDirectory(machine, 'bbbb2222', { checkout: '/src/other', embedded });
  const here = (options: Parameters<typeof embeddedHere>[0]) =>
    embeddedHere(options, { cwd, env: { XDG_STATE_HOME: state } });
  expect(await here({ given: {} })).toBeUndefined();
  await claimDirectory(machine, 'cccc3333', { checkout: cwd, embedded });
  expect(await here({ given: {} })).toMatchObject({ id: 'cccc3333', embedded });
  expect(await here({ given: { context: 'kind' } })).toBeUndefined();
  expect(await here({ given: {}, kubeconfig: '/other' })).toBeUndefined();
  // A process that is gone.
  const owner = join(state, 'devloop', 'cccc3333', OWNER);
  await writeFile(owner, (await readFile(owner, 'utf8')).replace(`"pid":${process.pid}`, '"pid":4194305'));
  expect(await here({ given: {} })).toMatchObject({ id: 'cccc3333', hasCrashed: true });
  const asking = inEmbedded({ given: {} } as CommonOptions, { cwd, env: { XDG_STATE_HOME: state } });
  await expect(asking).rejects.toMatchObject({ code: 'embedded.ended', hint: 'devloop down' });
  await endOrphans(machine, () => {}, 'verify');
  expect(await here({ given: {} })).toMatchObject({ hasCrashed: true });
  await endOrphans(machine, () => {}, 'embedded');
  expect(await here({ given: {} })).toBeUndefined();
  expect(existsSync(join(state, 'devloop', 'aaaa1111'))).toBe(true);
  await rm(state, { recursive: true });
});
