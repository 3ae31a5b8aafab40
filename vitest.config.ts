import { defineConfig } from 'vitest/config';
import { machines } from './test/machine/pool.ts';
import { slowest } from './test/reporters/slowest.ts';

const reportFile = process.env.DEVLOOP_TEST_REPORT;

export default defineConfig({
  test: {
    // End-to-end files wait most of the time: on two cores, three are done sooner than two.
    maxWorkers: 3,
    reporters: ['default', slowest, ...(reportFile ? ['json'] : [])],
    outputFile: reportFile ? { json: reportFile } : {},
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 150_000 } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          globalSetup: ['test/machine/setup.ts'],
          pool: machines,
        },
      },
    ],
  },
});
