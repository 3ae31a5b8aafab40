import { expect, it } from 'vitest';
import { type FoundPair, followKeyPair } from '../../../src/local/key-pair-files.ts';

it('writes no key pair that is found once the session has been told to end', async () => {
  const of = (content: string): FoundPair => ({ pair: { certificate: content, key: content } }) as FoundPair;
  const leaving = new AbortController();
  const used: FoundPair[] = [];
  const find = async (): Promise<FoundPair> => {
    leaving.abort();
    return of('renewed');
  };
  await followKeyPair(
    find,
    async (found) => used.push(found),
    of('first'),
    () => {},
    leaving.signal,
  );
  expect(used).toEqual([]);
});
