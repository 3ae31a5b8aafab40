/** As many calls as a controller in a loop makes in some minutes: each is recorded, and memory has a bound. */
import { expect, it } from 'vitest';
import { startSubjects } from '../bench/api/subjects.ts';
import { startCluster } from '../cluster/cluster.ts';
import { repeat } from '../support/repeat.ts';

const AT_ONCE = 8;
const OBJECTS = 5_000;
/** What the load writes before it measures. */
const WARM_UP = 20;
const ROUNDS = 100;
/** On a machine with much else to do. */
const LIMIT_MS = 600_000;
/** By then, as many versions of objects as fit are remembered, and the recording is full. */
const WARM_ROUNDS = 30;
const MOST_GROWN = 1.1;

it('the API proxy loses none of 500,000 calls, and its memory stays', async () => {
  await using cluster = await startCluster({ certManager: false, pods: false, log: console.error });
  await using subjects = await startSubjects(cluster);
  await subjects.load('fill', OBJECTS);
  let calls = 0;
  const memory: number[] = [];
  const round = async (): Promise<void> => {
    await subjects.load('write', 'devloop', AT_ONCE, OBJECTS);
    calls += WARM_UP + OBJECTS;
    await subjects.recorded(calls);
    memory.push(await subjects.memoryOf('devloop'));
    console.log(`${calls} calls, ${memory.at(-1)!.toFixed(0)} MB`);
  };
  await repeat(`${OBJECTS} calls through the API proxy`, { soak: ROUNDS, limitMs: LIMIT_MS }, round);
  const warm = Math.max(...memory.slice(0, WARM_ROUNDS));
  const most = Math.max(...memory.slice(WARM_ROUNDS));
  console.log(
    `memory: ${warm.toFixed(0)} MB after ${WARM_ROUNDS} rounds, then at most ${most.toFixed(0)} MB`,
  );
  expect(await subjects.lastRecorded()).toBe(calls);
  expect(most / warm).toBeLessThan(MOST_GROWN);
});
