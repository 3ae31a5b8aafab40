import type { Channel } from 'ssh2';
import { expect, it } from 'vitest';
import { Spares } from '../../../src/route/relay/spares.ts';

it('hands out what is open, in order, while others are still being opened', async () => {
  const asked: PromiseWithResolvers<Channel>[] = [];
  const spares = new Spares(() => {
    const one = Promise.withResolvers<Channel>();
    asked.push(one);
    return one.promise;
  });
  expect(asked).toEqual([]);
  const taken = [spares.take()];
  const ready = asked.map((one, index) => {
    const channel = { index } as unknown as Channel;
    one.resolve(channel);
    return channel;
  });
  expect(ready.length).toBeGreaterThan(1);
  while (taken.length < ready.length) taken.push(spares.take());
  expect(await Promise.all(taken)).toEqual(ready);
  // One more for each that was taken, and never more than that.
  expect(asked.length).toBe(2 * ready.length - 1);
});

it('tells who takes a channel that could not be opened, and nobody else', async () => {
  const spares = new Spares(() => Promise.reject(new Error('gone')));
  await expect(spares.take()).rejects.toThrow('gone');
  await expect(spares.take()).rejects.toThrow('gone');
});
