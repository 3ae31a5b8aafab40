import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import type { ReviewRecord } from '../../../../src/reviews/record.ts';
import { recordOf } from '../../../../src/reviews/summarize.ts';
import { createReplaying } from '../../../../src/session/reviews/replay-after-restart.ts';
import { eventually } from '../../../support/eventually.ts';
import { Controller } from '../../gateway/support.ts';

let allowed = true;
const controller = new Controller(async (incoming, response) => {
  const { request } = JSON.parse(Buffer.concat(await incoming.toArray()).toString());
  const status = { code: 200, message: `${request.object.metadata.name} is ${allowed ? 'good' : 'bad'}` };
  response.end(JSON.stringify({ kind: 'AdmissionReview', response: { uid: request.uid, allowed, status } }));
});

beforeAll(() => controller.start());
afterAll(() => controller.stop());

function record(name: string): ReviewRecord {
  const request = { uid: 'u', name, object: { kind: 'Shop', apiVersion: 'v1', metadata: { name } } };
  const response = { uid: 'u', allowed: true, status: { code: 200, message: `${name} is good` } };
  const bytes = (review: object) => Buffer.from(JSON.stringify({ kind: 'AdmissionReview', ...review }));
  const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };
  const answer = { status: 200, headers: [], body: bytes({ response }) };
  return recordOf(
    { url: '/w', port: controller.port, at: 0, body: bytes({ request }), answer, ms },
    { id: name, calls: [] },
  );
}

function begin() {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent) => void events.push(event);
  const replaying = createReplaying({ paths: [] }, { emit, signal: new AbortController().signal });
  const restart = async (build: string): Promise<DevloopEvent[]> => {
    events.length = 0;
    replaying.observe({ type: 'controller.started', pid: 1, command: [], build });
    replaying.observe({ type: 'controller.replaced', pid: 1, ms: 1, heldMs: 1 });
    await eventually(async () => expect(events.at(-1)?.type).toBe('reviews.compared'));
    return [...events];
  };
  return { replaying, restart };
}

it('a build that crashes is compared, and the next one with the build before it', async () => {
  const { replaying, restart } = begin();
  await using _ = replaying;
  replaying.keep(record('shop-1'));
  await controller.stop();
  expect(await restart('crashing')).toMatchObject([{ result: 'changed' }, { replayed: 1, changed: 1 }]);
  await controller.start();
  expect(await restart('mended')).toMatchObject([{ replayed: 1, changed: 0, leftOut: 0 }]);
});

it('after each restart, says which answers differ from those of the build before, and counts what differs alike', async () => {
  const { replaying, restart } = begin();
  await using _ = replaying;
  for (const name of ['shop-1', 'shop-2', 'shop-3']) replaying.keep(record(name));
  replaying.keep({ ...record('large'), request: undefined });
  expect(await restart('one')).toMatchObject([{ replayed: 3, changed: 0, leftOut: 0, build: 'one' }]);
  allowed = false;
  expect(await restart('two')).toMatchObject([
    {
      type: 'reviews.replayed',
      review: { id: 'shop-1' },
      result: 'changed',
      alike: [{ id: 'shop-2' }, { id: 'shop-3' }],
    },
    { replayed: 3, changed: 3, build: 'two' },
  ]);
  expect(await restart('three')).toMatchObject([{ changed: 0 }]);
  allowed = true;
  expect(await restart('four')).toMatchObject([{ type: 'reviews.replayed' }, { changed: 3 }]);
});
