import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The virtual GPU owns worker threads of its own: one test process per core, each isolated.
    pool: 'forks',
    maxWorkers: 2,
    // Problems that a test writes into a temporary folder; tests of the question itself unset it.
    env: { WARPSMITH_TRUST: 'all' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
