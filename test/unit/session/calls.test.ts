import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { createRecording } from '../../../src/reviews/recording.ts';
import { calls } from '../../../src/session/calls.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { callOf, reconcileOf } from '../../support/session-facts.ts';

test('following lists what is new, and ends with the session', async () => {
  const checkout = await mkdtemp(join(tmpdir(), 'calls-'));
  onTestFinished(() => rm(checkout, { recursive: true }));
  await mkdir(join(checkout, '.git'));
  const env = { XDG_STATE_HOME: join(checkout, 'state') };
  const directory = await claimDirectory(await thisMachine(env), 's1', { checkout });
  const recording = createRecording(directory, 'calls');
  const record = async (...all: object[]): Promise<void> => {
    for (const one of all) recording.add({ v: 1, ...one });
    await recording.flush();
  };
  await record(callOf(1), reconcileOf(1));
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), env, cwd: checkout };
  const options = { action: 'list' as const, ids: [], filter: {}, follow: true };
  const signal = new AbortController().signal;
  const following = calls({ ...options, what: 'calls' }, { ...io, signal, onCluster: () => {} });
  const listed = () => events.flatMap((event) => (event.type === 'calls.listed' ? [event.call.id] : []));
  await expect.poll(listed).toEqual(['c-000001']);
  await record(reconcileOf(2), callOf(2));
  await expect.poll(listed).toEqual(['c-000001', 'c-000002']);
  await record(callOf(3));
  await expect.poll(listed).toEqual(['c-000001', 'c-000002', 'c-000003']);
  await rm(directory, { recursive: true });
  await following;
  expect(events.at(-1)).toMatchObject({ type: 'note', code: 'reviews.ended' });
});
