/**
 * Evaluations a minute with one worker and with several, in turns, so that what else the machine does affects all alike.
 *
 *     node bench/workers/throughput.ts --device virtual:l4 --workers 1,2 --output docs/results/virtual-workers.json
 *     node bench/workers/throughput.ts --device cuda:all --workers 1,2,4 --output docs/results/gpu-workers.json
 *     node bench/workers/throughput.ts --device cuda:0 --workers 1,2,3 --output docs/results/shared-gpu.json
 *
 * Every run searches the same problem with the same seed and budget, at random unless `--strategy` says otherwise, and ends with the
 * search. On virtual devices, what each candidate gave with several workers is compared with what it gave with one. On GPUs, the start is
 * also measured beside itself on each of them.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { WorkersRecording, WorkersRound } from '../../scripts/results/throughput.ts';
import { type OptimizeRequest, optimizeProblem } from '../../src/app/optimize.ts';
import { packageVersion } from '../../src/app/package-version.ts';
import { loadProblemTarget } from '../../src/app/target.ts';
import { chosenDevices } from '../../src/app/workers/chosen-devices.ts';
import { openRunSession } from '../../src/app/workers/open-run-session.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { listGpus } from '../../src/devices/cuda/list-gpus.ts';
import { ofType, type RecordedEvent } from '../../src/store/events.ts';
import { openRecording } from '../recording-file.ts';

const SEED = 1;
const MS_PER_MINUTE = 60_000;
const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'virtual:l4' },
    workers: { type: 'string', default: '1,2' },
    problem: { type: 'string', default: 'softmax' },
    workload: { type: 'string' },
    evaluations: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '2' },
    strategy: { type: 'string', default: 'random' },
    /** How often the start is measured beside itself by each worker. */
    'beside-itself': { type: 'string', default: '1' },
    output: { type: 'string' },
  },
});

const isVirtual = values.device.startsWith('virtual:');
const gpus = isVirtual ? [] : (chosenDevices({ device: values.device }) ?? [values.device]);
const { problem, start } = await loadProblemTarget(values.problem);
const workload = chooseWorkload(problem.file, values.workload);
/** As many GPUs as workers; all of them with several workers each; or a virtual one with as many processes. */
const placeOf = (workers: number) =>
  isVirtual || workers > gpus.length
    ? { device: values.device, workers: `${workers}` }
    : { device: gpus.slice(0, workers).join(',') };
const { recording, save } = await openRecording<WorkersRecording>(
  values.output ?? join(tmpdir(), 'workers.json'),
  () => ({
    problem: problem.file.name,
    workload: workload.name,
    device: isVirtual ? undefined : listGpus()[0]?.name,
    evaluations: Number(values.evaluations),
    environment: { warpsmith: packageVersion(), node: process.versions.node },
    cores: cpus().length,
    rounds: [],
    sameAsAlone: { same: 0, different: [] },
    besideItself: [],
  }),
);

/** What a virtual device found, without what depends on the moment. */
const findingOf = ({ status, timing, seed }: Evaluation): string => JSON.stringify([status, timing?.medianNs, seed]);
const alone = new Map<string, string>();

const CLOCK_TICKS_PER_SECOND = 100;

/** Of this process and of its children that have ended. */
function cpuSeconds(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / CLOCK_TICKS_PER_SECOND;
}

async function search(workers: number): Promise<WorkersRound> {
  const before = cpuSeconds();
  const store = await mkdtemp(join(tmpdir(), 'warpsmith-throughput-'));
  const events: RecordedEvent[] = [];
  // What follows the search is not counted.
  const over = new AbortController();
  const onEvent = (event: RecordedEvent): void => {
    events.push(event);
    if (event.type === 'search-ended') over.abort(new Error('the search has ended'));
  };
  try {
    await optimizeProblem({
      ...{
        target: values.problem,
        store,
        seed: SEED,
        strategy: values.strategy as OptimizeRequest['strategy'],
        fresh: true,
        ablation: false,
        trust: true,
      },
      ...{ workloads: [workload.name], maximumEvaluations: recording.evaluations },
      ...placeOf(workers),
      ...{ onEvent, signal: over.signal },
    });
  } finally {
    await rm(store, { recursive: true, force: true });
  }
  const from = Date.parse(ofType(events, 'move-proposed')[0]!.time);
  const to = Date.parse(ofType(events, 'search-ended')[0]!.time);
  const searched = ofType(events, 'evaluation-finished').filter(
    ({ iteration, time }) => iteration > 0 && Date.parse(time) <= to,
  );
  if (isVirtual)
    compare(
      workers,
      searched.map(({ evaluation }) => evaluation),
    );
  return {
    workers,
    devices: [...new Set(searched.map(({ evaluation }) => evaluation.device.uuid ?? evaluation.device.id))].sort(),
    seconds: (to - from) / 1000,
    evaluations: searched.length,
    evaluationsPerMinute: Number(((searched.length / (to - from)) * MS_PER_MINUTE).toFixed(2)),
    cpuSecondsPerEvaluation: Number(((cpuSeconds() - before) / searched.length).toFixed(2)),
    load: Number(loadavg()[0]!.toFixed(1)),
    spent: spentBy(searched, (workers * (to - from)) / 1000),
    tiers: tiersOf(searched),
  };
}

const STAGES = ['compile', 'verify', 'time'] as const;

/** @param seconds of all workers. */
function spentBy(searched: readonly { evaluation: Evaluation }[], seconds: number): NonNullable<WorkersRound['spent']> {
  const sum = (stage: keyof Evaluation['elapsedMs']): number =>
    searched.reduce((all, { evaluation }) => all + evaluation.elapsedMs[stage], 0) / 1000;
  const [compile, verify, time] = STAGES.map(sum) as [number, number, number];
  const spent = { compile, verify, time, other: sum('total') - compile - verify - time, idle: seconds - sum('total') };
  return Object.fromEntries(
    Object.entries(spent).map(([name, value]) => [name, Number(value.toFixed(1))]),
  ) as typeof spent;
}

const tiersOf = (searched: readonly { evaluation: Evaluation }[]): Record<string, number> =>
  Object.fromEntries(
    [
      ...Map.groupBy(
        searched,
        ({ evaluation }) => evaluation.timing?.measurement?.conditions.tier ?? evaluation.status,
      ),
    ].map(([tier, { length }]) => [tier, length]),
  );

function compare(workers: number, evaluations: readonly Evaluation[]): void {
  for (const evaluation of evaluations) {
    const known = alone.get(evaluation.candidate.id);
    if (workers === 1) alone.set(evaluation.candidate.id, findingOf(evaluation));
    else if (known === findingOf(evaluation)) recording.sameAsAlone.same += 1;
    else if (known !== undefined) recording.sameAsAlone.different.push(evaluation.candidate.id);
  }
}

for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const workers of values.workers.split(',').map(Number)) {
    recording.rounds.push(await search(workers));
    await save();
    process.stderr.write(`${JSON.stringify(recording.rounds.at(-1))}\n`);
  }
}
/** The start beside itself, as many at a time as there are workers: each judges one. */
async function besideItself(workers: number): Promise<void> {
  await using session = await openRunSession({ ...placeOf(workers), trust: true });
  const candidate = makeCandidate(start, {});
  const request = {
    problem,
    candidate,
    workload,
    seed: SEED,
    tier: 'accept',
    against: [{ name: 'start', candidate }],
  } as const;
  for (let time = 0; time < Number(values['beside-itself']); time += 1) {
    const judged = await Promise.all(Array.from({ length: workers }, () => session.evaluator.evaluate(request)));
    for (const { device, comparisons } of judged)
      recording.besideItself.push({
        workers,
        device: device.uuid ?? device.id,
        verdict: comparisons?.[0]?.verdict ?? null,
        ratio: comparisons?.[0]?.ratio ?? null,
        intervalRatio: comparisons?.[0]?.intervalRatio ?? null,
      });
  }
  await save();
}

if (!isVirtual) for (const workers of values.workers.split(',').map(Number)) await besideItself(workers);
