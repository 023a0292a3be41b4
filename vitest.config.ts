import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { RENEWED_FORKS } from './test/support/renewed-forks.ts';
import { findTurn } from './test/support/sampling/find-turn.ts';
import { SampleReporter } from './test/support/sampling/report-sample.ts';
import { STRIPPED_SOURCES, strippedSources } from './test/support/stripped-sources.ts';

/**
 * Tests that leave nothing behind in their process (no environment, no working folder, no listener), run no kernel and fill
 * no large arrays. Thousands of modules are then loaded twice instead of once for each file, and the process stays small:
 * some start hundreds of others, and to start one the system copies the page tables of the process that does (0.1 s of
 * processor time for 800 MB). V8 fails a check on its code pages
 * (`jit_page.has_value()`) once a process has compiled and dropped very many WebAssembly modules: what runs kernels gets a
 * process for each file.
 */
const SHARING_ROOMS = [
  ...['architecture', 'core', 'handover', 'hardware', 'optimizer', 'ptx', 'reports', 'search', 'stats', 'store'],
  ...['launches', 'oracle/generators', 'oracle/tolerances'].map((room) => `evaluation/${room}`),
];
const SHARING_FILES: Readonly<Record<string, readonly string[]>> = {
  app: ['choose-objective', 'dispatch-row', 'inspect', 'nearest-attempt', 'repeats'],
  'app/author': ['apply-edits', 'submission', 'model/misbehaviours', 'model/model-author', 'model/virtual-check'],
  bench: ['counters', 'record-on-gpu'],
  cli: ['best-so-far', 'request-words'],
  'cuda-source': ['amounts', 'cut', 'translate'],
  'devices/cuda': ['arena', 'list-gpus', 'results', 'transfers'],
  docs: ['commands', 'links', 'measured-figures', 'recordings', 'referee-blocks', 'reference'],
  evaluation: [
    'audit/blind-checks',
    'audit/weakened',
    'live-evaluator',
    'measure/plan-ring',
    'measure/slot-judge',
    'recording/repeat',
    'recording/replay',
    'values',
  ],
  'evaluation/instruments': ['profilers/counters-from-metrics', 'profilers/parse-pages', 'profilers/sass-classes'],
  'evaluation/oracle': [
    'compare',
    'describe-verdict',
    'describe-where',
    'expectation-cache',
    'checks/repeated',
    'secret/constants',
    'secret/rows',
    'shapes/drawn',
  ],
  'evaluation/verify': ['leftovers', 'resembling-inputs', 'verify-quickly'],
  process: ['cache-file', 'fill-normal', 'network-wall', 'process-tree', 'temporary-folder'],
  'red-team': ['judge-on-gpu'],
  toolchains: [
    'code-cache',
    'compile',
    'compiler-names',
    'device-launches',
    'diagnostics',
    'flags',
    'module-policy',
    'nvrtc-includes',
    'refused-files',
    'source-texts',
  ],
  'virtual-gpu': ['cache-model/access-sampler', 'cache-model/interleave', 'cache-model/l2-cache'],
};
const SHARING = [
  ...SHARING_ROOMS.map((room) => `test/${room}/**/!(*.browser).test.ts`),
  ...Object.entries(SHARING_FILES).flatMap(([room, names]) => names.map((name) => `test/${room}/${name}.test.ts`)),
];

/**
 * A verification fills and drops arrays of megabytes that lie outside V8's heap. By default V8 marks its whole heap again
 * for every 64 MB of them: a third of the processor time of tests with large inputs. With these flags it counts them as part
 * of the heap, and first collects at 512 MB.
 */
const V8_FLAGS = ['--external-memory-accounted-in-global-limit', '--initial-old-space-size=512'];

/** Tests that judge small kernels, and start hundreds of processes: the page tables of theirs stay small without the second flag. */
const STARTING = ['test/cli/gate.test.ts'];

/** Of large matrices of tests a sample runs, another one with every commit (docs/decisions/a-sample-of-the-matrices.md). */
const turn = findTurn(import.meta.dirname);

/** Tests that compile so many kernels, where all members of their matrices run, that each file needs a process of its own. */
const COMPILING = [
  ...['bench', 'corpus', 'course', 'fuzz', 'honest', 'problems', 'red-team'].map((room) => `test/${room}/**/*.test.ts`),
  ...['opcodes/opcodes', 'control-flow/random-programs', 'recorded/recorded'].map(
    (name) => `test/virtual-gpu/${name}.test.ts`,
  ),
];

/** Each file has a process of its own. */
const ALONE = [
  ...(turn.seed === 'all' ? COMPILING : []),
  // They start processes that load sources, or ask what this one has open.
  ...['browser/*.browser', 'reports/html.browser', 'app/killed-runs', 'bench/soak', 'process/*'].map(
    (name) => `test/${name}.test.ts`,
  ),
];

export default defineConfig({
  plugins: [strippedSources(import.meta.dirname)],
  test: {
    ...STRIPPED_SOURCES,
    pool: 'forks',
    // One more than the cores of CI, because tests wait for processes that they start and for limits of time: 599 s instead of 649.
    maxWorkers: 3,
    globalSetup: ['files-in-memory', 'shared-code-cache', 'build-for-processes'].map(
      (name) => `test/support/${name}.ts`,
    ),
    provide: { turn },
    reporters: [...configDefaults.reporters, new SampleReporter(turn.seed)],
    sequence: { sequencer: LongestFirst },
    // Problems that a test writes into a temporary folder; tests of the question itself unset it. And what a test finds
    // is found now: tests of repeats and of the journal turn them on.
    // Several test processes keep all cores busy, and a second thread takes a fifth more processor time: tests of threads name their number.
    env: { WARPSMITH_TRUST: 'all', WARPSMITH_REPEATS: 'off', WARPSMITH_JOURNAL: 'off', WARPSMITH_THREADS: '1' },
    // Ends what hangs. CI was seen to take three and a half times as long as a quiet machine: a test of 20 s took over a minute.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      { extends: true, test: { name: 'alone', include: ALONE, exclude: SHARING, execArgv: V8_FLAGS } },
      {
        extends: true,
        test: {
          name: 'in turn',
          include: ['test/**/*.test.ts'],
          exclude: [...ALONE, ...SHARING, ...STARTING],
          execArgv: V8_FLAGS,
          isolate: false,
          pool: RENEWED_FORKS,
          setupFiles: ['test/support/restore-process.ts'],
        },
      },
      { extends: true, test: { name: 'starting', include: STARTING, execArgv: V8_FLAGS.slice(0, 1) } },
      { extends: true, test: { name: 'sharing', include: SHARING, isolate: false } },
    ],
  },
});
