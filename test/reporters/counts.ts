import type { Reporter } from 'vitest/node';
import type { Repetitions } from '../support/repeat.ts';

/** Ends the report of `npm run soak` with what was repeated, and how often. */
export const counts: Reporter = {
  onTestRunEnd(modules) {
    const sums = new Map<string, Repetitions>();
    for (const module of modules)
      for (const test of module.children.allTests())
        for (const one of test.meta().repetitions ?? []) {
          const { count = 0, seconds = 0 } = sums.get(one.what) ?? {};
          sums.set(one.what, { ...one, count: count + one.count, seconds: seconds + one.seconds });
        }
    console.log('\n Repetitions');
    for (const { what, count, seconds } of sums.values())
      console.log(`${String(count).padStart(8)}  ${what} (${seconds.toFixed(1)} s)`);
  },
};
