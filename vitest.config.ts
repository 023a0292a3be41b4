import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

/**
 * Tests that leave nothing behind in their process: no environment, no working folder, no listener. Thousands of modules
 * are then loaded twice instead of once for each file.
 */
const SHARING = [
  ...['architecture', 'core', 'diagnosis', 'hardware', 'honest', 'optimizer', 'problems', 'ptx', 'red-team', 'reports'],
  ...['search', 'stats', 'virtual-gpu', 'app/attention-on-l4.test.ts', 'devices/cuda/harness', 'devices/*.test.ts'],
  ...[
    'evaluation/*.test.ts',
    'evaluation/audit',
    'evaluation/launches',
    'evaluation/oracle/*.test.ts',
    'evaluation/oracle/tolerances',
    'evaluation/oracle/generators',
    'evaluation/measure',
    'evaluation/verify',
    'evaluation/recording',
    'store',
  ],
  ...['toolchains/header-pack'],
].map((place) => (place.endsWith('.ts') ? `test/${place}` : `test/${place}/**/!(*.browser).test.ts`));

export default defineConfig({
  test: {
    // The virtual GPU owns worker threads of its own: one test process per core.
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // Problems that a test writes into a temporary folder; tests of the question itself unset it.
    env: { WARPSMITH_TRUST: 'all' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'alone', include: ['test/**/*.test.ts'], exclude: SHARING } },
      { extends: true, test: { name: 'sharing', include: SHARING, isolate: false } },
    ],
  },
});
