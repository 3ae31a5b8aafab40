import type { Reporter } from 'vitest/node';

/** Ends the report of `npm run soak` with what was repeated, and how often. */
export const counts: Reporter = {
  onTestRunEnd(modules) {
    console.log('\n Repetitions');
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        for (const { what, count, seconds } of test.meta().repetitions ?? [])
          console.log(`${String(count).padStart(8)}  ${what} (${seconds.toFixed(1)} s)`);
      }
    }
  },
};
