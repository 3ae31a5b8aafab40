import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { writeSet } from '../../../src/reviews/sets.ts';
import { directoryWith } from '../controller/support/places.ts';

const MS = { held: 0, controller: 7, total: 8, budget: 10_000 };
const WHO: Omit<ReviewRecord, 'request' | 'ms'> = {
  ...{ v: 1, id: 'r-000001', at: '2026-01-01T10:15:02.000Z', kind: 'admission', webhook: 'v.kb.io' },
  ...{ path: '/v', operation: 'CREATE', verdict: 'allowed' },
};

it('a saved set is the same whatever the order of the keys was', async () => {
  const checkout = await directoryWith({});
  const save = async (name: string, record: ReviewRecord): Promise<string> =>
    await readFile(await writeSet(checkout, name, { records: [record], replaces: false }), 'utf8');
  const one = await save('one', { ...WHO, ms: MS, request: { b: [{ d: 1, c: 2 }], a: 3 } });
  const other = await save('other', { request: { a: 3, b: [{ c: 2, d: 1 }] }, ms: MS, ...WHO });
  expect(other).toBe(one);
  expect(one).toContain('"request":{"a":3,"b":[{"c":2,"d":1}]}');
});
