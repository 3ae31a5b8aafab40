import { execFileSync } from 'node:child_process';
import { readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { setNames, writeSet } from '../../../src/reviews/sets.ts';
import { directoryWith } from '../controller/support/places.ts';

const MS = { held: 0, controller: 7, total: 8, budget: 10_000 };
const WHO: Omit<ReviewRecord, 'request' | 'ms'> = {
  ...{ v: 1, id: 'r-000001', at: '2026-01-01T10:15:02.000Z', kind: 'admission', webhook: 'v.kb.io' },
  ...{ path: '/v', operation: 'CREATE', verdict: 'allowed' },
};

it('what is no file is no set: a pipe and a device never end', async () => {
  const checkout = await directoryWith({ 'testdata/reviews/one.ndjson': '' });
  const at = (name: string) => join(checkout, 'testdata/reviews', `${name}.ndjson`);
  execFileSync('mkfifo', [at('pipe')]);
  await symlink('/dev/zero', at('device'));
  await symlink('nowhere', at('gone'));
  await symlink('itself.ndjson', at('itself'));
  await symlink('one.ndjson', at('other'));
  expect(await setNames(checkout)).toEqual(['one', 'other']);
});

it('a saved set is the same whatever the order of the keys was', async () => {
  const checkout = await directoryWith({});
  const save = async (name: string, record: ReviewRecord): Promise<string> =>
    await readFile(await writeSet(checkout, name, { records: [record], replaces: false }), 'utf8');
  const one = await save('one', { ...WHO, ms: MS, request: { b: [{ d: 1, c: 2 }], a: 3 } });
  const other = await save('other', { request: { a: 3, b: [{ c: 2, d: 1 }] }, ms: MS, ...WHO });
  expect(other).toBe(one);
  expect(one).toContain('"request":{"a":3,"b":[{"c":2,"d":1}]}');
});

it('a set is not saved through a link that leads out of the checkout', async () => {
  const [checkout, other] = [await directoryWith({}), await directoryWith({})];
  await symlink(other, join(checkout, 'testdata'));
  const saved = writeSet(checkout, 'one', { records: [], replaces: true });
  await expect(saved).rejects.toMatchObject({ code: 'files.not-written' });
  expect(await readdir(other)).toEqual([]);
});
