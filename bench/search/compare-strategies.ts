// Lets every strategy search the shipped problems by replaying their recorded spaces, 20 seeds each, and writes
// docs/results/search.json: node bench/search/compare-strategies.ts [problem …]
//
// The loop is the optimizer's own; only its evaluator is the recording. Exits with 1 unless guided search is within 5 % of
// the best in at most half of random search's evaluations, and is not without diagnosis: geometric means over problems.

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  isGuidedWorthIt,
  mediansOf,
  type ProblemSearch,
  type SearchMedians,
  type SearchRecording,
  sharesOf,
  UNDIRECTED,
} from '../../scripts/results/search-recording.ts';
import { vetoBoundFor } from '../../src/app/bounds.ts';
import { packageVersion } from '../../src/app/package-version.ts';
import { openReplay } from '../../src/app/recording.ts';
import type { Evaluation, Evaluator } from '../../src/core/evaluation.ts';
import type { Candidate } from '../../src/core/kernel.ts';
import { GUIDED, RUN_STRATEGIES } from '../../src/core/requests/options.ts';
import { PATTERNS } from '../../src/diagnosis/patterns/index.ts';
import { isTimed } from '../../src/optimizer/decision.ts';
import { optimize } from '../../src/optimizer/optimize.ts';
import { type BenchedSpace, benchSpace, benchStrategy, randomCurve } from '../../src/search/bench.ts';
import type { Outcome } from '../../src/search/strategy.ts';
import { NOTHING_KEPT } from '../../src/store/events.ts';
import {
  DEVICE,
  loadProblemSpace,
  type ProblemSpace,
  problemNames,
  recordingPath,
  requestFor,
} from './problem-space.ts';

const SEEDS = 20;
const WITHIN = 5;
/** Evaluations that are plotted. */
const PLOTTED = 100;
const OUTPUT = fileURLToPath(new URL('../../docs/results/search.json', import.meta.url));

type Replay = Awaited<ReturnType<typeof openReplay>>;

/** How a run is asked for, by the name it is tabled under. */
const MODES: readonly { name: string; strategy: string; diagnosis?: false }[] = [
  { name: GUIDED, strategy: GUIDED },
  { name: UNDIRECTED, strategy: GUIDED, diagnosis: false },
  ...RUN_STRATEGIES.filter((strategy) => strategy !== GUIDED).map((strategy) => ({ name: strategy, strategy })),
];

/** Answers whatever the search's seed: the recording has one evaluation of each setting. */
const recordedAnswers = (space: ProblemSpace, answers: ReadonlyMap<string, Evaluation>): Evaluator => ({
  async evaluate({ id = 'e0', candidate, workload }) {
    const answer = answers.get(candidate.id);
    if (answer && workload.name === space.workload.name) return { ...answer, id };
    throw new Error(`${candidate.kernel.file.name} on ${workload.name} is not in the recording`);
  },
  close: async () => {},
});

async function readAnswers(space: ProblemSpace, { evaluator }: Replay): Promise<Map<string, Evaluation>> {
  const answers = new Map<string, Evaluation>();
  for (const candidate of space.candidates) {
    const evaluation = await evaluator.evaluate(requestFor(space, candidate));
    if (evaluation.status === 'device-failed') {
      throw new Error(`${evaluation.reason}; node bench/search/brute-force.ts records what is missing`);
    }
    answers.set(candidate.id, evaluation);
  }
  return answers;
}

const outcomeOf = (evaluation: Evaluation): Outcome =>
  isTimed(evaluation) ? { kind: 'timed', timeNs: evaluation.timing.medianNs } : { kind: 'failed' };

/** The best time after each evaluation of one run; the run is over when nothing better is to be found. */
async function search(
  space: ProblemSpace,
  session: Replay,
  evaluator: Evaluator,
  bestNs: number,
  asked: { strategy: string; diagnosis?: false; seed: number },
): Promise<number[]> {
  const { problem, start, rungs, workload } = space;
  const found = new AbortController();
  const times: number[] = [];
  let isSearching = true;
  const { strategy, seed, diagnosis } = asked;
  await optimize({
    problem,
    workloads: [workload],
    device: session.device.identity,
    spec: session.device.spec,
    start,
    rungs,
    evaluator,
    patterns: PATTERNS,
    seed,
    strategy,
    ablation: false,
    request: { target: problem.folder, diagnosis },
    budgets: {
      maximumEvaluations: space.candidates.length,
      allowance: NOTHING_KEPT,
      maximumMinutes: null,
      maximumGpuMinutes: null,
      maximumMoney: null,
      gpuPricePerHour: null,
    },
    vetoBound: vetoBoundFor(problem.file, workload, session.device.spec),
    emit(event) {
      if (event.type === 'search-ended') {
        isSearching = false;
        // What follows explains the winner, on workloads that are not recorded.
        found.abort();
      }
      if (event.type !== 'evaluation-finished' || !isSearching) return;
      const outcome = outcomeOf(event.evaluation);
      times.push(
        Math.min(times.at(-1) ?? Number.POSITIVE_INFINITY, outcome.kind === 'timed' ? outcome.timeNs : Infinity),
      );
      if (times.at(-1)! <= bestNs) found.abort();
    },
    signal: found.signal,
  });
  return times;
}

async function compare(name: string): Promise<ProblemSearch> {
  const space = await loadProblemSpace(name);
  await using session = await openReplay(recordingPath(name));
  const answers = await readAnswers(space, session);
  const evaluator = recordedAnswers(space, answers);
  const outcomes = space.candidates.map((candidate: Candidate) => outcomeOf(answers.get(candidate.id)!));
  const benched: BenchedSpace = benchSpace(outcomes, WITHIN);
  const plotted = Math.min(PLOTTED, outcomes.length);
  const strategies = [];
  for (const { name: mode, ...asked } of MODES) {
    const runs: number[][] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      runs.push(await search(space, session, evaluator, benched.bestNs, { ...asked, seed }));
    }
    strategies.push(benchStrategy(mode, runs, benched, plotted));
  }
  return {
    problem: name,
    workload: space.workload.name,
    space: benched,
    randomCurve: randomCurve(outcomes, plotted),
    strategies,
  };
}

const line = (name: string, { guided, undirected, random }: SearchMedians): string =>
  `${name}: guided ${guided}, without diagnosis ${undirected}, random ${random}\n`;

const { positionals } = parseArgs({ allowPositionals: true });
const names = positionals.length > 0 ? positionals : problemNames().filter((name) => existsSync(recordingPath(name)));
const problems: ProblemSearch[] = [];
for (const name of names) {
  const result = await compare(name);
  problems.push(result);
  process.stdout.write(line(name, mediansOf(result)));
}
const shares = sharesOf(problems.map(mediansOf));
process.stdout.write(
  `of random, geometric mean: guided ${shares.guided.toFixed(3)}, without diagnosis ${shares.undirected.toFixed(3)}\n`,
);
if (!isGuidedWorthIt(shares)) process.exitCode = 1;
const recording: SearchRecording = {
  schemaVersion: 1,
  device: DEVICE,
  date: new Date().toISOString().slice(0, 10),
  warpsmith: packageVersion(),
  seeds: SEEDS,
  within: WITHIN,
  problems,
};
// Ratios with four digits: the rest of them is not worth the space.
const rounded = (key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isInteger(value) && key !== 'bestNs' ? Number(value.toPrecision(5)) : value;
if (positionals.length === 0) await writeFile(OUTPUT, `${JSON.stringify(recording, rounded)}\n`);
