import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ReviewRecord } from '../../../../src/reviews/record.ts';
import type { Handlers } from '../../../../src/session/control/requests.ts';
import { openSocket } from '../../../../src/session/control/socket.ts';
import {
  afterReplay,
  afterVerify,
  compareAll,
  replayToSession,
} from '../../../../src/session/reviews/replay.ts';
import { freePort } from '../../../support/free-port.ts';
import { partly } from '../../../support/partly.ts';
import { reviewOf } from '../../../support/session-facts.ts';
import { Controller } from '../../gateway/support.ts';

const record = (number: number, port: number): ReviewRecord => ({
  ...{ v: 1, ...reviewOf(number), port, request: { request: { uid: 'u' } } },
  ...{ response: { response: { allowed: true } } },
});

it('answers that changed end with a next step for the first of them', async () => {
  // Nothing answers there.
  const port = await freePort();
  const options = { paths: [], withSideEffects: false, signal: new AbortController().signal, emit() {} };
  const comparing = compareAll([record(1, port), record(2, port)], { ...options, hint: ({ id }) => id });
  await expect(comparing).rejects.toMatchObject({ code: 'review.changed', hint: 'r-000001' });
});

it('the next step after a replay is one that the tool offers there', () => {
  const changed = record(2, 9443);
  expect(afterReplay(changed, {})).toMatch(/: devloop reviews show r-000002$/);
  expect(afterReplay(changed, { session: '3f2a91c0' })).toMatch(/ show r-000002 --session 3f2a91c0$/);
  const [show, update] = afterReplay(changed, { set: 'web', session: 'x' }).split('\n');
  expect(show).toMatch(/ show r-000002 --set web$/);
  expect(update).toMatch(/end the session, .* verify web --update$/);
  expect(afterVerify(changed, 'web')).toMatch(/ show r-000002 --set web\n(?!.*end).* verify web --update$/);
});

it('a saved set is not sent to a port on which the session has no webhooks', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'replay-'));
  const controller = new Controller((_, response) => response.end('{"response":{"allowed":true}}'));
  await controller.start();
  const { signal } = new AbortController();
  const io = { emit() {}, signal, env: {}, cwd: '/' };
  const replaying = { paths: [], ports: [[9443, controller.port]] as [number, number][] };
  await using _ = await openSocket(directory, partly<Handlers>({ replaying: () => replaying }), io.emit);
  const session = { id: 's1', directory, checkout: '/' };
  const replayed = async (port: number): Promise<void> =>
    await replayToSession(session, [record(1, port)], { io, withSideEffects: false, from: { set: 'web' } });
  try {
    // That port belongs to somebody else.
    await expect(replayed(controller.port)).rejects.toMatchObject({ code: 'controller.not-ready' });
    expect(controller.seen).toEqual([]);
    await replayed(9443);
    expect(controller.seen).toHaveLength(1);
    // An operator without webhooks in the cluster can have them here.
    replaying.ports = [];
    await replayed(controller.port);
    expect(controller.seen).toHaveLength(2);
  } finally {
    await controller.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
