/** Hostile connections to the gateway: nothing crashes, memory stays bounded, and reviews pass. */
import { expect, it } from 'vitest';
import { AT_ONCE, memoryOf, startIntruders, startOwnGateway } from '../../support/intruders.ts';
import { repeat, SOAK } from '../../support/repeat.ts';
import { ask, Controller, NAME, pair, setUp } from './support.ts';

const SERVED = { name: NAME, pair };
const WARM_UP = { soak: 200, quick: 4 };
const ROUNDS = { soak: 240, quick: 3 };
/**
 * How many times as much memory a process may use after the hostile connections. After only a few connections, such a ratio says little.
 */
const MOST_GROWN = SOAK ? 1.1 : 1.5;
/** How much more memory this process may use when the limits of its gateway are reached, in MiB. */
const MOST_FILLED = 500;

it('the gateway survives hostile connections, and answers a review in between', async () => {
  const controller = new Controller();
  await controller.start();
  await using gateway = await startOwnGateway(controller.port, SERVED);
  await using intruders = await startIntruders([gateway.port], SERVED);
  const round = async (): Promise<void> => {
    await intruders.do('attack');
    expect((await ask(gateway.port, '/validate')).status).toBe(200);
  };
  await repeat('hostile connections at a gateway: rounds to warm up', WARM_UP, round);
  const before = await memoryOf(gateway.child);
  await repeat(`hostile connections at a gateway: rounds of ${AT_ONCE}`, ROUNDS, round);
  const after = await memoryOf(gateway.child);
  console.log(`memory of the gateway: ${before.toFixed(0)} MiB, and then ${after.toFixed(0)} MiB`);
  expect(after / before).toBeLessThan(MOST_GROWN);
  await controller.stop();
});

it.runIf(SOAK)('memory has a bound, whatever fills the limits of the gateway', async () => {
  // Its controller is in this process, too, so its answers are short; the limit of long ones is tested in strangers.test.ts.
  const answer = Buffer.alloc(2 ** 18);
  await using bench = await setUp(new Controller((_, response) => response.end(answer)));
  await using intruders = await startIntruders([bench.gateway.port], SERVED);
  const memory = (): number => process.memoryUsage().rss / 2 ** 20;
  const before = memory();
  await repeat('limits of a gateway, all filled one after the other', { soak: 3 }, async () => {
    await intruders.do('fill');
    expect((await bench.ask('/validate')).status).toBe(200);
    console.log(`memory of the gateway: ${before.toFixed(0)} MiB, and now ${memory().toFixed(0)} MiB`);
  });
  expect(memory() - before).toBeLessThan(MOST_FILLED);
});
