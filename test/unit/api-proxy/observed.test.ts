import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import { CallTrace, type ServedCall } from '../../../src/api-proxy/observed.ts';

/** What the hooks get of an answer that arrives in these chunks. */
async function traced(url: string, chunks: Buffer[], headers: Record<string, string> = {}, statusCode = 200) {
  const served: ServedCall[] = [];
  const hooks = { served: (one: ServedCall) => void served.push(one), watched: () => {} };
  const trace = new CallTrace(hooks, apiCall({ method: 'GET', url }), {});
  const answer = Readable.from(chunks) as IncomingMessage;
  trace.answered(Object.assign(answer, { statusCode, headers }), answer);
  await new Promise((resolve) => answer.once('end', resolve));
  trace.ended();
  return served;
}

test('of a compressed list, the size of its content is known without unpacking it', async () => {
  const packed = gzipSync(Buffer.alloc(3_000_000, 'a'));
  const chunks = [packed.subarray(0, -2), packed.subarray(-2, -1), packed.subarray(-1)];
  expect(await traced('/api/v1/secrets', chunks, { 'content-encoding': 'gzip' })).toMatchObject([
    { answer: { bytes: packed.length, unpackedBytes: 3_000_000 } },
  ]);
});

test('a watch is served when it has sent all objects, and when it ends', async () => {
  const lines = [
    { type: 'ADDED', object: { kind: 'Secret', metadata: { name: 'a' } } },
    { type: 'ADDED', object: { kind: 'Secret', metadata: { name: 'b' } } },
    {
      type: 'BOOKMARK',
      object: { kind: 'Secret', metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    },
    { type: 'MODIFIED', object: { kind: 'Secret', metadata: { name: 'b' } } },
  ].map((line) => Buffer.from(`${JSON.stringify(line)}\n`));
  const bytes = lines.slice(0, 3).reduce((sum, { length }) => sum + length, 0);
  const url = '/api/v1/secrets?watch=true&sendInitialEvents=true';
  const served = await traced(url, lines, { 'content-type': 'application/json' });
  expect(served).toMatchObject([{ isOpen: true, answer: { bytes, events: 3 } }, { answer: { events: 4 } }]);
  expect(served[1]).not.toHaveProperty('isOpen');
});

test('a call has the date at which it was made, also after this machine was asleep', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.setSystemTime(Date.now() + 3_600_000);
  const [{ at } = { at: 0 }] = await traced('/api/v1/pods', [Buffer.from('{}')]);
  expect(Math.abs(at - Date.now())).toBeLessThan(1_000);
});

test('what another protocol says is not kept', async () => {
  const said = [Buffer.from('a secret')];
  expect((await traced('/api/v1/x', said))[0]!.answer).toHaveProperty('body');
  expect((await traced('/exec', said, {}, 101))[0]!.answer).not.toHaveProperty('body');
});
