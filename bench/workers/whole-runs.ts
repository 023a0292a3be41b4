/**
 * Evaluations a minute of whole runs of `optimize`, from the first event to the last: search, confirmation, ablation and reports.
 * One run of each problem, as a user starts it, with the same budget.
 *
 *     node bench/workers/whole-runs.ts --device cuda:0 [--workers 1] [--evaluations 40] [--output docs/results/gpu-whole-runs.json]
 *       [--keep FOLDER] [--beside 'what else the machine does'] [PROBLEM[@WORKLOAD] …]
 *
 * A problem that the recording holds is left out, so that limited time on a machine can be used in parts.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { WholeRun, WholeRunsRecording } from '../../scripts/results/throughput.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';
import { packageVersion } from '../../src/app/package-version.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { ofType, type RecordedEvent } from '../../src/store/events.ts';
import { openRecording } from '../recording-file.ts';
import { problemNames } from '../search/problem-space.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'cuda:0' },
    evaluations: { type: 'string', default: '40' },
    output: { type: 'string', default: 'docs/results/gpu-whole-runs.json' },
    /** Processes that share the GPU. */
    workers: { type: 'string', default: '1' },
    beside: { type: 'string', default: 'nothing' },
    /** Where the runs' logs stay. */
    keep: { type: 'string' },
  },
});

const budget = Number(options.evaluations);
const workers = Number(options.workers);
const { recording, save } = await openRecording<WholeRunsRecording>(options.output, () => ({
  schemaVersion: 1,
  environment: { warpsmith: packageVersion(), node: process.versions.node },
  budget,
  recordedAt: new Date().toISOString(),
  runs: [],
}));

const MS = 1000;
const rounded = (value: number): number => Number(value.toFixed(2));

const spentIn = (evaluations: readonly Evaluation[], stage: 'compile' | 'verify' | 'time'): number =>
  rounded(evaluations.reduce((sum, { elapsedMs }) => sum + elapsedMs[stage], 0) / MS);

/** From the first proposal to the end of the search, without the start and what follows. */
function searchOf(events: readonly RecordedEvent[]): WholeRun['search'] {
  const [from] = ofType(events, 'move-proposed');
  const [to] = ofType(events, 'search-ended');
  if (!from || !to) return undefined;
  const searched = ofType(events.slice(0, events.indexOf(to)), 'evaluation-finished');
  return {
    seconds: rounded((Date.parse(to.time) - Date.parse(from.time)) / MS),
    evaluations: searched.filter(({ iteration }) => iteration > 0).length,
  };
}

async function wholeRun(target: string, workload: string | undefined): Promise<WholeRun> {
  const store = options.keep ?? (await mkdtemp(join(tmpdir(), 'warpsmith-whole-run-')));
  const events: RecordedEvent[] = [];
  const startMs = performance.now();
  try {
    const { result } = await optimizeProblem({
      ...{ target, store, seed: 1, fresh: true, trust: true, device: options.device, maximumEvaluations: budget },
      ...(workload === undefined ? {} : { workloads: [workload] }),
      ...(workers === 1 ? {} : { workers: String(workers) }),
      onEvent: (event) => void events.push(event),
    });
    const seconds = (performance.now() - startMs) / MS;
    const evaluations = ofType(events, 'evaluation-finished').map(({ evaluation }) => evaluation);
    const [first] = evaluations;
    return {
      problem: target,
      workload: first!.workload.name,
      device: first!.device.name,
      workers,
      beside: options.beside,
      seconds: rounded(seconds),
      evaluations: evaluations.length,
      evaluationsPerMinute: rounded((60 * evaluations.length) / seconds),
      search: searchOf(events),
      stopReason: result.stopReason,
      spent: {
        compile: spentIn(evaluations, 'compile'),
        verify: spentIn(evaluations, 'verify'),
        time: spentIn(evaluations, 'time'),
      },
      statuses: Object.fromEntries(
        [...Map.groupBy(evaluations, ({ status }) => status)].map(([status, { length }]) => [status, length]),
      ),
    };
  } finally {
    if (options.keep === undefined) await rm(store, { recursive: true, force: true });
  }
}

// What is recorded here is found here.
process.env.WARPSMITH_REPEATS = 'off';
for (const asked of positionals.length > 0 ? positionals : problemNames()) {
  const [problem, workload] = asked.split('@') as [string, string | undefined];
  const isThis = (run: WholeRun): boolean =>
    run.problem === problem && (workload ?? run.workload) === run.workload && (run.workers ?? 1) === workers;
  if (recording.runs.some(isThis)) continue;
  try {
    recording.runs.push(await wholeRun(problem, workload));
    process.stderr.write(`${JSON.stringify(recording.runs.at(-1))}\n`);
  } catch (error) {
    process.stderr.write(`${asked}: ${error instanceof Error ? error.message : String(error)}\n`);
  }
  await save();
}
