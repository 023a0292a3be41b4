import { basename, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { WarpsmithError } from '../core/errors.ts';
import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import { type SearchBenchView, searchBenchSvg } from '../reports/documents/search-bench.ts';
import { type BenchedStrategy, benchSpace, benchStrategy, randomCurve } from '../search/bench.ts';
import { configurationAt, findConfiguration } from '../search/list-space.ts';
import type { RecordedSpace } from '../search/recorded-space.ts';
import { replayStrategy } from '../search/replay.ts';
import { createStrategy } from '../search/strategies.ts';
import type { Outcome, SearchPrior } from '../search/strategy.ts';
import { withStorageErrors } from '../store/storage-error.ts';
import { writeWhole } from '../store/write-whole.ts';
import { readTuningResults } from './prior/read-tuning-results.ts';
import type { Surroundings } from './session.ts';

type SearchBenchOptions = RequestOf<'search-bench'> & Surroundings;

/** Strategies whose answers don't depend on the seed. */
const UNSEEDED: ReadonlySet<string> = new Set(['exhaustive']);

/**
 * Replays a fully evaluated space: every strategy searches it once per seed, and an evaluation is a look-up.
 *
 * @throws WarpsmithError for a file that can't be read or is no T4 file, or an unknown strategy; the abort reason of
 * `signal`.
 */
export async function searchBench(request: SearchBenchOptions): Promise<SearchBenchView> {
  const options = completeRequest('search-bench', request);
  const { file, seeds, within } = options;
  const recorded = readTuningResults(file);
  const prior =
    options.prior === undefined ? undefined : priorFrom(readTuningResults(options.prior), recorded, options);
  const space = benchSpace(recorded.outcomes, within);
  const evaluations = Math.min(options.evaluations, recorded.space.size);
  const names = options.strategies;
  const strategies: BenchedStrategy[] = [];
  for (const [index, name] of names.entries()) {
    options.onStep?.(`strategy ${index + 1} of ${names.length}: ${name}`);
    const runs: number[][] = [];
    for (let seed = 1; seed <= (UNSEEDED.has(name) ? 1 : seeds); seed += 1) {
      // Lets an interruption through.
      await setImmediate();
      options.signal?.throwIfAborted();
      runs.push(replay(recorded, { name, seed, prior }, { evaluations, enoughNs: space.bestNs }));
    }
    strategies.push(benchStrategy(name, runs, space, evaluations));
  }
  return {
    schemaVersion: 1,
    kind: 'search-bench',
    file: basename(file),
    evaluations,
    space: {
      ...space,
      repeated: recorded.repeated,
      dimensions: recorded.space.dimensions.map(({ name, values }) => ({ name, values: values.length })),
      randomCurve: randomCurve(recorded.outcomes, evaluations),
    },
    strategies,
  };
}

const replay = (
  { space, outcomes }: RecordedSpace,
  { name, ...options }: { name: string; seed: number; prior: SearchPrior | undefined },
  limits: { evaluations: number; enoughNs: number },
): number[] => replayStrategy(createStrategy(name, { space, ...options }), (index) => outcomes[index]!, limits);

/** What the other space says of this one's configurations. @throws WarpsmithError `other-space`. */
function priorFrom(
  other: RecordedSpace,
  { space }: RecordedSpace,
  { file, prior }: { file: string; prior?: string | undefined },
): SearchPrior {
  const outcomes = new Map<number, Outcome>();
  for (const [index, outcome] of other.outcomes.entries()) {
    const found = findConfiguration(space, configurationAt(other.space, index));
    if (found !== undefined) outcomes.set(found, outcome);
  }
  if (outcomes.size > 0) return { outcomes };
  throw new WarpsmithError({
    code: 'other-space',
    message: `${prior} has no configuration of ${file}.`,
    file: prior,
    received: other.space.dimensions.map(({ name }) => name).join(', '),
    expected: space.dimensions.map(({ name }) => name).join(', '),
    hint: 'A prior is a file of the same kernel and parameters, from another device.',
  });
}

/** Writes the report's plot as an SVG file. */
export function writeSearchBenchPlot(report: SearchBenchView, path: string): void {
  withStorageErrors(path, () => writeWhole(resolve(path), searchBenchSvg(report)));
}
