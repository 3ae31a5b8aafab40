import { expect, it } from 'vitest';
import { type FoundPair, mountPointsOf, useRenewed } from '../../../src/local/key-pairs.ts';

const pairOf = (content: string): FoundPair =>
  ({ pair: { certificate: content, key: '' } }) as Partial<FoundPair> as FoundPair;

/** One look at a Secret with that content, while the pair `first` is in use. */
async function look(content: string, abort = false) {
  const session = new AbortController();
  const used: FoundPair[] = [];
  const find = async (): Promise<FoundPair> => {
    if (abort) session.abort();
    return pairOf(content);
  };
  const current = await useRenewed('first', find, async (found) => used.push(found), session.signal);
  return { current, used };
}

it('uses a renewed key pair, once', async () => {
  expect(await look('renewed')).toEqual({ current: 'renewed', used: [pairOf('renewed')] });
  expect(await look('first')).toEqual({ current: 'first', used: [] });
});

it('does not use a renewal that is found after the session was aborted', async () => {
  expect(await look('renewed', true)).toEqual({ current: 'first', used: [] });
});

it('names each mount point once, and none for a Secret that is not mounted', () => {
  const mounted = (...directories: string[]): FoundPair => {
    return { ...pairOf(''), secret: { namespace: 'n', name: 's', files: {}, directories, exists: true } };
  };
  const pairs = new Map(
    [mounted('/a', '/c'), mounted('/b'), mounted('/a'), mounted()].map((one, i) => [`${i}`, one]),
  );
  expect(mountPointsOf(pairs)).toEqual(['/a', '/c', '/b']);
});
