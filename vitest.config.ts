import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { findTurn } from './test/support/sampling/find-turn.ts';
import { SampleReporter } from './test/support/sampling/report-sample.ts';

/**
 * Tests that leave nothing behind in their process (no environment, no working folder, no listener) and run no kernel.
 * Thousands of modules are then loaded twice instead of once for each file. V8 fails a check on its code pages
 * (`jit_page.has_value()`) once a process has compiled and dropped very many WebAssembly modules: what runs kernels gets a
 * process for each file.
 */
const SHARING = [
  ...['architecture', 'core', 'hardware', 'optimizer', 'ptx', 'reports', 'search', 'stats', 'store'],
  ...['audit', 'launches', 'measure', 'oracle/generators', 'oracle/tolerances', 'recording'].map(
    (room) => `evaluation/${room}`,
  ),
  ...['live-evaluator.test.ts', 'values.test.ts'].map((file) => `evaluation/${file}`),
  ...['app/author', 'handover'],
  ...['compare', 'describe-where', 'drawn-shapes', 'expectation-cache', 'repeated-checks', 'secret-rows'].map(
    (name) => `evaluation/oracle/${name}.test.ts`,
  ),
  ...['compile', 'compiler-names', 'diagnostics', 'flags', 'module-policy', 'refused-files', 'source-texts'].map(
    (name) => `toolchains/${name}.test.ts`,
  ),
].map((place) => (place.endsWith('.ts') ? `test/${place}` : `test/${place}/**/!(*.browser).test.ts`));

/**
 * A verification fills and drops arrays of megabytes that lie outside V8's heap. By default V8 marks its whole heap again
 * for every 64 MB of them: a third of the processor time of tests with large inputs. With these flags it counts them as part
 * of the heap, and first collects at 512 MB.
 */
const V8_FLAGS = ['--external-memory-accounted-in-global-limit', '--initial-old-space-size=512'];

/** Of large matrices of tests a sample runs, another one with every commit (docs/decisions/a-sample-of-the-matrices.md). */
const turn = findTurn(import.meta.dirname);

export default defineConfig({
  test: {
    // The virtual GPU owns worker threads of its own: one test process per core.
    pool: 'forks',
    maxWorkers: 2,
    execArgv: V8_FLAGS,
    globalSetup: ['test/support/shared-code-cache.ts'],
    provide: { turn },
    reporters: [...configDefaults.reporters, new SampleReporter(turn.seed)],
    sequence: { sequencer: LongestFirst },
    // Problems that a test writes into a temporary folder; tests of the question itself unset it. And what a test finds
    // is found now: tests of repeats and of the journal turn them on.
    env: { WARPSMITH_TRUST: 'all', WARPSMITH_REPEATS: 'off', WARPSMITH_JOURNAL: 'off' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'alone', include: ['test/**/*.test.ts'], exclude: SHARING } },
      { extends: true, test: { name: 'sharing', include: SHARING, isolate: false } },
    ],
  },
});
