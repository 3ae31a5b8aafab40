import { defineConfig } from 'vitest/config';
import { machines } from './test/machine/pool.ts';
import { counts } from './test/reporters/counts.ts';

/** `npm run soak`: what `npm test` does once, again and again (test/e2e), and what takes long (test/soak). */
export default defineConfig({
  test: {
    include: ['test/**/*.soak.test.ts'],
    env: { DEVLOOP_SOAK: '1', CGO_ENABLED: '0' },
    globalSetup: ['test/machine/setup.ts', 'test/soak/setup.ts'],
    pool: machines,
    maxWorkers: 2,
    testTimeout: 3_600_000,
    hookTimeout: 240_000,
    reporters: ['default', counts],
  },
});
