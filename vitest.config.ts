import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/machine/order.ts';
import { machines } from './test/machine/pool.ts';
import { filesToLeaveOut } from './test/machine/together.ts';
import { secondTries } from './test/reporters/second-tries.ts';
import { slowest } from './test/reporters/slowest.ts';

const reportFile = process.env.DEVLOOP_TEST_REPORT;

// Most tests depend on real processes and clocks: about one in 5,000 fails by chance. It is tried again, and named (secondTries).
const retry = 1;

const endToEnd = {
  // A file uses two thirds of a core on average, and waits for the rest of the time.
  maxWorkers: 3,
  // As the sample was built for its image: with another value, Go compiles every package anew.
  env: { CGO_ENABLED: '0' },
  testTimeout: 300_000,
  hookTimeout: 300_000,
  globalSetup: ['test/machine/setup.ts'],
  pool: machines,
  retry,
};
const inBothModes = ['routes', 'families'].map((name) => `test/e2e/${name}.soak.test.ts`);

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ['default', slowest, secondTries, ...(reportFile ? ['json'] : [])],
    outputFile: reportFile ? { json: reportFile } : {},
    projects: [
      {
        test: {
          name: 'unit',
          // A process for each file takes a third of all their processor time.
          isolate: false,
          // They mostly wait: for timers, and for processes that they start.
          maxWorkers: 6,
          sequence: { groupOrder: 1 },
          include: ['test/unit/**/*.test.ts'],
          setupFiles: ['test/support/leaves-nothing.ts'],
          testTimeout: 150_000,
          retry,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...endToEnd,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: filesToLeaveOut(process.argv.slice(2)),
          provide: { aggregatorRouting: false },
        },
      },
      {
        test: {
          ...endToEnd,
          name: 'e2e, endpoint routing',
          include: inBothModes,
          provide: { aggregatorRouting: true },
        },
      },
    ],
  },
});
