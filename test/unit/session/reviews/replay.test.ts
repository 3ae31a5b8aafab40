import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { DevloopEvent } from '../../../../src/report/events.ts';
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

it('differences that are the same but for the names of the objects are reported once, in the end', async () => {
  const recorded = (name: string): string => (name === 'c' ? 'gone' : `${name} is good`);
  const controller = new Controller(async (incoming, response) => {
    const { request } = JSON.parse(Buffer.concat(await incoming.toArray()).toString());
    const { name } = request.object.metadata;
    const message = ['c', 'd'].includes(name) ? recorded(name) : `${name} is too large`;
    response.end(
      JSON.stringify({ response: { uid: request.uid, allowed: name === 'd', status: { message } } }),
    );
  });
  await controller.start();
  onTestFinished(() => controller.stop());
  const named = (number: number, name: string): ReviewRecord => ({
    ...record(number, controller.port),
    object: { namespace: 'default', name },
    request: { request: { uid: 'u', object: { metadata: { name } } } },
    response: { response: { allowed: true, status: { message: recorded(name) } } },
  });
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent) => void events.push(event);
  const options = { paths: [], withSideEffects: false, signal: new AbortController().signal, emit };
  const records = ['a', 'b', 'c', 'd', 'web'].map((name, at) => named(at + 1, name));
  await expect(compareAll(records, { ...options, hint: ({ id }) => id })).rejects.toMatchObject({
    code: 'review.changed',
    message: expect.stringContaining(' 4 of 5 '),
  });
  const alike = [
    { id: 'r-000002', object: { namespace: 'default', name: 'b' } },
    { id: 'r-000005', object: { namespace: 'default', name: 'web' } },
  ];
  expect(events).toMatchObject([
    { result: 'same', review: { id: 'r-000004' } },
    { result: 'changed', review: { id: 'r-000001' }, alike },
    { result: 'changed', review: { id: 'r-000003' } },
    { type: 'reviews.compared', changed: 4 },
  ]);
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
