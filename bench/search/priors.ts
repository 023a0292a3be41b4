// Lets the Bayesian strategy search spaces without a prior, with that of a sibling, and with the sibling's times shuffled
// among its settings, and replaces their rows in docs/results/search-priors.json:
// node bench/search/priors.ts                               the shipped problems, recorded on virtual devices, and the
//                                                           attention settings that were measured on an H200
// node bench/search/priors.ts <target file> <prior file> …  spaces that others measured
//
// The files are results of auto-tuners for the same kernel on two devices. Kernel Tuner's cache files of three kernels on
// nine GPUs: https://github.com/schoonhovenrichard/GPU_benchmarking_paper (irace_tune/stochastic_cache_files).
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type {
  PredictedSweep,
  PriorRow,
  PriorsRecording,
  SearchCost,
  SweepRow,
} from '../../scripts/results/priors-recording.ts';
import { packageVersion } from '../../src/app/package-version.ts';
import { readTuningResults } from '../../src/app/prior/read-tuning-results.ts';
import { configurationAt, findConfiguration } from '../../src/search/list-space.ts';
import { type RecordedEntry, type RecordedSpace, recordedSpace } from '../../src/search/recorded-space.ts';
import { replayStrategy } from '../../src/search/replay.ts';
import { createStrategy } from '../../src/search/strategies.ts';
import type { Outcome, SearchPrior } from '../../src/search/strategy.ts';
import { quantileOfSorted } from '../../src/stats/quantile.ts';
import { randomSource, shuffle } from '../../src/stats/random.ts';
import { readRecording } from '../../src/store/recording.ts';
import { problemNames, recordingPath } from './problem-space.ts';

const SEEDS = 16;
const EVALUATIONS = 100;
const WITHIN = 5;
const OUTPUT = fileURLToPath(new URL('../../docs/results/search-priors.json', import.meta.url));
const SWEEP = new URL('../../docs/results/attention-notebook-sweep.json', import.meta.url);
const PREDICTED = new URL('../../docs/results/attention-sweep-predicted.json', import.meta.url);

interface Pair {
  readonly kind: PriorRow['kind'];
  readonly space: string;
  readonly prior: string;
  readonly target: RecordedSpace;
  readonly sibling: RecordedSpace;
}

/** `GEMM_A100` of `GEMM_A100_processed_run1.json`. */
const nameOf = (file: string): string => basename(file).replace(/(_processed(_run\d+)?)?(\.t4)?\.json(\.gz)?$/, '');

function publicPairs(files: readonly string[]): Pair[] {
  return Array.from({ length: Math.floor(files.length / 2) }, (_, pair) => {
    const [target, prior] = files.slice(2 * pair) as [string, string];
    return {
      kind: 'public',
      space: nameOf(target),
      prior: nameOf(prior),
      target: readTuningResults(target),
      sibling: readTuningResults(prior),
    };
  });
}

function recordedOn(device: string, problem: string): RecordedSpace {
  const entries = readRecording(recordingPath(problem, device)).evaluations.map(
    ({ request: { candidate }, evaluation: { status, timing } }): RecordedEntry => ({
      configuration: { ...candidate.parameters, kernel: candidate.kernel },
      outcome: status === 'passed' && timing ? { kind: 'timed', timeNs: timing.medianNs } : { kind: 'failed' },
    }),
  );
  return recordedSpace(entries, problem, 'evaluations');
}

const predictedPairs = (): Pair[] =>
  problemNames()
    .filter((problem) => existsSync(recordingPath(problem, 'virtual:h200')))
    .map((problem) => ({
      kind: 'predicted',
      space: `${problem} on virtual:h200`,
      prior: 'virtual:l4',
      target: recordedOn('virtual:h200', problem),
      sibling: recordedOn('virtual:l4', problem),
    }));

/** Small and large, few and many CTAs; every other workload of the sweep resembles one of them. */
const SWEPT: ReadonlySet<string> = new Set(['b1h1s128', 'b1h8s512', 'b32h8s128', 'b32h8s512']);

function measuredPairs(): Pair[] {
  const { rows } = JSON.parse(readFileSync(SWEEP, 'utf8')) as { rows: SweepRow[] };
  const swept = rows.filter(([, , , , workload]) => SWEPT.has(workload));
  const spaces = [...Map.groupBy(swept, ([, , , , workload]) => workload)].map(([workload, of]) => {
    const entries = of.map(
      ([kernel, parameters, , , , medianUs]): RecordedEntry => ({
        configuration: { ...parameters, kernel },
        outcome: { kind: 'timed', timeNs: medianUs * 1000 },
      }),
    );
    return { workload, space: recordedSpace(entries, workload, 'rows') };
  });
  return spaces.flatMap(({ workload, space: target }) => {
    const predicted = predictedSweep(workload);
    const siblings = [
      ...spaces.filter((other) => other.workload !== workload),
      ...(predicted ? [{ workload: 'virtual:h200, same workload', space: predicted }] : []),
    ];
    return siblings.map((sibling) => ({
      kind: 'measured' as const,
      space: `attention ${workload} on an H200`,
      prior: sibling.workload,
      target,
      sibling: sibling.space,
    }));
  });
}

/** What a virtual H200 says of the same settings, if that was recorded. */
function predictedSweep(workload: string): RecordedSpace | undefined {
  if (!existsSync(PREDICTED)) return undefined;
  const { rows } = JSON.parse(readFileSync(PREDICTED, 'utf8')) as PredictedSweep;
  const entries = rows
    .filter(([, , of]) => of === workload)
    .map(
      ([kernel, parameters, , timeNs]): RecordedEntry => ({
        configuration: { ...parameters, kernel },
        outcome: timeNs === null ? { kind: 'failed' } : { kind: 'timed', timeNs },
      }),
    );
  return entries.length === 0 ? undefined : recordedSpace(entries, workload, 'rows');
}

function outcomesOf({ target, sibling }: Pair): [number, Outcome][] {
  return sibling.outcomes.flatMap((outcome, index): [number, Outcome][] => {
    const found = findConfiguration(target.space, configurationAt(sibling.space, index));
    return found === undefined ? [] : [[found, outcome]];
  });
}

const asIs = (known: readonly [number, Outcome][]): SearchPrior => ({ outcomes: new Map(known) });

function shuffled(known: readonly [number, Outcome][], seed: number): SearchPrior {
  const random = randomSource(seed);
  const outcomes = shuffle(
    known.map(([, outcome]) => outcome),
    (bound) => random.next() % bound,
  );
  return { outcomes: new Map(known.map(([index], place) => [index, outcomes[place]!])) };
}

function costOf(
  { target: { space, outcomes } }: Pair,
  goodNs: number,
  priorFor: (seed: number) => SearchPrior | undefined,
): SearchCost {
  const needed = Array.from({ length: SEEDS }, (_, place) => {
    const strategy = createStrategy('bayesian', { space, seed: place + 1, prior: priorFor(place + 1) });
    const limits = { evaluations: EVALUATIONS, enoughNs: goodNs };
    const run = replayStrategy(strategy, (index) => outcomes[index]!, limits);
    return run.at(-1)! <= goodNs ? run.length : Number.POSITIVE_INFINITY;
  }).sort((a, b) => a - b);
  const at = (share: number): number | null => {
    const value = quantileOfSorted(needed, share);
    return Number.isFinite(value) ? value : null;
  };
  return {
    median: at(0.5),
    p90: at(0.9),
    mean: needed.reduce((sum, count) => sum + Math.min(count, EVALUATIONS), 0) / SEEDS,
    reached: needed.filter(Number.isFinite).length / SEEDS,
  };
}

function rowOf(pair: Pair): PriorRow {
  const { kind, space, prior, target } = pair;
  const times = target.outcomes.flatMap((outcome) => (outcome.kind === 'timed' ? [outcome.timeNs] : []));
  const goodNs = Math.min(...times) * (1 + WITHIN / 100);
  const known = outcomesOf(pair);
  return {
    ...{ kind, space, prior },
    configurations: target.outcomes.length,
    good: times.filter((time) => time <= goodNs).length,
    known: known.length,
    without: costOf(pair, goodNs, () => undefined),
    with: costOf(pair, goodNs, () => asIs(known)),
    shuffled: costOf(pair, goodNs, (seed) => shuffled(known, seed)),
  };
}

const isSame = (a: PriorRow, b: PriorRow): boolean => a.space === b.space && a.prior === b.prior;

const rounded = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;

const { positionals } = parseArgs({ allowPositionals: true });
const pairs = positionals.length > 0 ? publicPairs(positionals) : [...predictedPairs(), ...measuredPairs()];
let rows = existsSync(OUTPUT) ? (JSON.parse(readFileSync(OUTPUT, 'utf8')) as PriorsRecording).rows : [];
for (const pair of pairs) {
  const row = rowOf(pair);
  const line = (of: SearchCost): string => `${of.median ?? '–'} (${of.mean.toFixed(1)})`;
  process.stdout.write(
    `${row.space} from ${row.prior}: ${line(row.without)}, with ${line(row.with)}, shuffled ${line(row.shuffled)}\n`,
  );
  rows = [...rows.filter((other) => !isSame(other, row)), row];
  const recording: PriorsRecording = {
    schemaVersion: 1,
    date: new Date().toISOString().slice(0, 10),
    warpsmith: packageVersion(),
    ...{ seeds: SEEDS, within: WITHIN, evaluations: EVALUATIONS, rows },
  };
  await writeFile(OUTPUT, `${JSON.stringify(recording, rounded)}\n`);
}
