import { runDevloop, startDevloop } from '../support/devloop.ts';
import { rolledOut } from '../support/sample-operator.ts';
import { report } from './figures.ts';
import { median, ROUNDS } from './measure.ts';

type Here = Parameters<typeof runDevloop>[1];

/** What running a command may add. */
const MORE_MS = 300;

/** `devloop test -- true`, against `up` that is ended as soon as it is ready. */
export async function testFigure(cluster: Parameters<typeof rolledOut>[0], here: Here): Promise<void> {
  const tested: number[] = [];
  const upped: number[] = [];
  const timed = async (times: number[], work: () => Promise<void>): Promise<void> => {
    await rolledOut(cluster);
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  };
  // The first build fills the cache of the go tool.
  await upAndEnd(here);
  for (let round = 0; round < ROUNDS; round++) {
    await timed(tested, async () => {
      const { code, log } = await runDevloop(['test', '--yes', '--', 'true'], here);
      if (code !== 0) throw new Error(`devloop test ended with ${code}:\n${log}`);
    });
    await timed(upped, () => upAndEnd(here));
  }
  report({
    name: 'devloop test -- true',
    ours: median(tested),
    unit: 'ms',
    anchor: { name: `up and its end, and ${MORE_MS} ms`, value: median(upped) + MORE_MS },
    goal: { most: 1 },
  });
}

async function upAndEnd(here: Here): Promise<void> {
  await using up = startDevloop(['up'], here);
  await up.waitForAny(({ type }) => type === 'session.ready');
  up.signal('SIGINT');
  await up.exited;
}
