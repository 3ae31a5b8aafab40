import { expect, it } from 'vitest';
import { type FoundPair, followKeyPair } from '../../../src/local/key-pairs.ts';

it('does not use a renewal that is found after the session was aborted', async () => {
  const of = (content: string): FoundPair => ({ pair: { certificate: content, key: content } }) as FoundPair;
  const leaving = new AbortController();
  const used: FoundPair[] = [];
  const find = async (): Promise<FoundPair> => {
    leaving.abort();
    return of('renewed');
  };
  await followKeyPair(of('first'), find, async (found) => used.push(found), {
    emit: () => {},
    signal: leaving.signal,
  });
  expect(used).toEqual([]);
});
