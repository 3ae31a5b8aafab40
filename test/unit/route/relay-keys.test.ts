import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { makeRelayKeys } from '../../../src/route/relay/keys.ts';

// As ssh2 makes them, one pair in 256 is unusable: none of them in 1,000 sessions would be luck of one to 2,500.
it('makes keys that can be used, in each of 1,000 sessions', async () => {
  const unusable: string[] = [];
  for (let session = 0; session < 1_000; session++) {
    const { host, client } = await makeRelayKeys();
    for (const text of [host.private, host.public, client.private, client.public]) {
      const parsed = ssh2.utils.parseKey(text);
      if (parsed instanceof Error) unusable.push(parsed.message);
    }
  }
  expect(unusable).toEqual([]);
});
