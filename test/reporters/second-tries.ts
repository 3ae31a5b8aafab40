import { relative } from 'node:path';
import type { Reporter } from 'vitest/node';

/** Ends the report of a run with the tests that passed only when they were repeated, and with the error of their first try. */
export const secondTries: Reporter = {
  onTestRunEnd(modules) {
    const flaky = modules.flatMap((module) =>
      [...module.children.allTests()].filter((test) => test.diagnostic()?.flaky),
    );
    if (flaky.length === 0) return;
    console.log('\n Passed only at the second try; each of these is a fault to mend');
    for (const test of flaky) {
      console.log(`  ${relative(process.cwd(), test.module.moduleId)} > ${test.fullName}`);
      const [first] = test.result().errors ?? [];
      if (first !== undefined) console.log(`    ${first.message.slice(0, 2_000).replaceAll('\n', '\n    ')}`);
    }
  },
};
