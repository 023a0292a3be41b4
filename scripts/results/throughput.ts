import { readFile } from 'node:fs/promises';
import { formatCount } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

/** A search by so many workers. */
export interface WorkersRound {
  readonly workers: number;
  readonly devices: readonly string[];
  /** From the first proposal to the end of the search. */
  readonly seconds: number;
  readonly evaluations: number;
  readonly evaluationsPerMinute: number;
  /** Of the whole run, for each evaluation of its search: this process and those that it waited for. */
  readonly cpuSecondsPerEvaluation: number;
  /** Processes that wanted a core, on average over the last minute, at the end. */
  readonly load: number;
  /** Where the workers' seconds went: sums over the evaluations of the search, and what no evaluation took. */
  readonly spent?: Readonly<Record<'compile' | 'verify' | 'time' | 'other' | 'idle', number>>;
  /** Its evaluations by tier; accepted candidates are measured longer, and profiled if they are faster. */
  readonly tiers?: Readonly<Record<string, number>>;
}

/** A kernel measured beside itself. */
interface BesideItself {
  readonly device: string;
  readonly verdict: string | null;
  readonly ratio: number | null;
  /** As many at a time; absent in older recordings. */
  readonly workers?: number;
  readonly intervalRatio?: readonly [number, number] | null;
}

/** docs/results/virtual-workers.json, gpu-workers.json, gpu-workers-ahead.json and those beside it, by bench/workers/throughput.ts. */
export interface WorkersRecording {
  readonly problem: string;
  readonly workload: string;
  /** Name of the GPUs. */
  readonly device?: string | undefined;
  readonly evaluations: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly cores: number;
  readonly rounds: WorkersRound[];
  /** Virtual devices: candidates that several workers judged as one did, and those that they did not. */
  readonly sameAsAlone: { same: number; different: string[] };
  /** GPUs: the start beside itself. */
  readonly besideItself: BesideItself[];
}

const right = (title: string) => ({ title, align: 'right' as const });

/** A run of `optimize`, from the first event to the last. */
export interface WholeRun {
  readonly problem: string;
  readonly workload: string;
  readonly device: string;
  /** Processes that shared the GPU; one if absent. */
  readonly workers?: number;
  /** What else the machine did, as said by `--beside`; each run had a GPU of its own. */
  readonly beside: string;
  readonly seconds: number;
  readonly evaluations: number;
  readonly evaluationsPerMinute: number;
  /** Its search alone; absent in older recordings. */
  readonly search?: { readonly seconds: number; readonly evaluations: number } | undefined;
  readonly stopReason: string;
  /** Sums over its evaluations, in seconds. A candidate that was compiled ahead waits for no compiler. */
  readonly spent: Readonly<Record<'compile' | 'verify' | 'time', number>>;
  readonly statuses: Readonly<Record<string, number>>;
}

/** docs/results/gpu-whole-runs.json, by bench/workers/whole-runs.ts. */
export interface WholeRunsRecording {
  readonly schemaVersion: 1;
  readonly environment: Readonly<Record<string, string>>;
  readonly budget: number;
  readonly recordedAt: string;
  readonly runs: WholeRun[];
}

async function recorded<T>(name: string): Promise<T> {
  return JSON.parse(await readFile(new URL(`docs/results/${name}.json`, ROOT), 'utf8')) as T;
}

const seconds = (value: number): string => value.toFixed(0);

/** Whole runs on each GPU, with what their evaluations took. */
async function wholeRuns(): Promise<string> {
  const { runs, budget, recordedAt } = await recorded<WholeRunsRecording>('gpu-whole-runs');
  const columns = [
    { title: 'problem' },
    { title: 'workload' },
    { title: 'on' },
    ...['evaluations', 'seconds', 'a minute', 'compile, s', 'verify, s', 'measure and profile, s'].map(right),
  ];
  const cells = runs.map(({ problem, workload, device, evaluations, evaluationsPerMinute, spent, ...run }) => [
    problem,
    workload,
    device.replace(/^NVIDIA (\S+).*/, '$1'),
    String(evaluations),
    seconds(run.seconds),
    evaluationsPerMinute.toFixed(1),
    ...[spent.compile, spent.verify, spent.time].map(seconds),
  ]);
  return `${markdownTable(columns, cells)}

${recordedAt.slice(0, 10)}: runs of \`optimize\` with a budget of ${budget} evaluations, from the first file read to the last report, with nothing else on
the GPU. What waits for a compiler, verifies and measures is summed over the evaluations.`;
}

/** docs/results/shared-gpu.json: whole-runs.ts and throughput.ts with one candidate and with two at a time on one GPU. */
interface SharedGpuRecording extends WholeRunsRecording {
  readonly random: Pick<WorkersRecording, 'problem' | 'workload' | 'device' | 'cores' | 'rounds'>;
  readonly besideItself: readonly BesideItself[];
}

/** Searches with one candidate and with two at a time, and the start beside itself. */
async function sharedGpu(): Promise<string> {
  const { runs, random, besideItself, recordedAt } = await recorded<SharedGpuRecording>('shared-gpu');
  const columns = ['candidates at a time', 'evaluations', 'seconds', 'a minute'].map(right);
  const byFindings = runs.map(({ problem, workers, search }) => ({ search: problem, workers, ...search! }));
  const atRandom = random.rounds.map((round) => ({ ...round, search: `${random.problem}, random` }));
  const cells = [...byFindings, ...atRandom].map(({ search, workers, evaluations, seconds: long }) => [
    ...[search, String(workers), String(evaluations), seconds(long), ((60 * evaluations) / long).toFixed(1)],
  ]);
  const spreadOf = (workers: number): string => {
    const ratios = besideItself.filter((one) => one.workers === workers).map(({ ratio }) => ratio!);
    return `${ratios.length} times with ${workers}, ${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`;
  };
  return `${markdownTable([{ title: 'search' }, ...columns], cells)}

${recordedAt.slice(0, 10)}, ${random.device}, hosts of ${random.cores} cores, each pair on one of them, once each: the searches alone, without the start, the confirmation and what follows.
The start of attention beside itself: ${spreadOf(1)}; ${spreadOf(2)} at a time.`;
}

/** Evaluations a minute with several GPUs, beside those with one. */
async function gpuWorkers(): Promise<string> {
  const { problem, workload, device, cores, rounds, besideItself } = await recorded<WorkersRecording>('gpu-workers');
  const alone = rounds.find(({ workers }) => workers === 1)!.evaluationsPerMinute;
  const columns = [right('GPUs'), right('evaluations a minute'), right('÷ one GPU'), right('load')];
  const cells = rounds.map(({ workers, evaluationsPerMinute, load }) => [
    String(workers),
    evaluationsPerMinute.toFixed(1),
    `${(evaluationsPerMinute / alone).toFixed(2)}×`,
    load.toFixed(1),
  ]);
  return `${markdownTable(columns, cells)}

${problem}, ${workload}, ${device}, GPUs of one host with ${cores} cores: ${rounds[0]!.evaluations} evaluations of a random search, once each.
The start beside itself took ${besideItself.map(({ ratio }) => `${ratio!.toFixed(3)}×`).join(' and ')} as long on each GPU.`;
}

/** Recordings of one search on the GPUs of several hosts, and what ran there. */
const ON_FOUR_GPUS = [
  ['gpu-workers-before', 'before'],
  ['gpu-workers-four', 'then'],
  ['gpu-workers-busy-host', 'then, another host'],
  ['gpu-workers-ahead', 'now, a third host'],
  ['gpu-workers-long', 'now, 32 cores, 134 evaluations'],
] as const;

/** Where the seconds of several GPUs went, by their number. */
async function gpuWorkerSeconds(): Promise<string> {
  const columns = ['GPUs', 'evaluations a minute', '÷ one GPU', 'screens', 'longer measurements'].map(right);
  const spent = ['compile, s', 'verify, s', 'measure and profile, s', 'idle, s', 'in all, s'].map(right);
  const recordings = await Promise.all(ON_FOUR_GPUS.map(([name]) => recorded<WorkersRecording>(name)));
  const cells = recordings.flatMap(({ rounds }, i) => {
    const alone = rounds.find(({ workers }) => workers === 1)?.evaluationsPerMinute;
    const sorted = [...rounds].sort((a, b) => a.workers - b.workers);
    return sorted.map(({ workers, evaluationsPerMinute, seconds: long, spent: by, tiers }) => [
      ...[ON_FOUR_GPUS[i]![1], String(workers), evaluationsPerMinute.toFixed(1)],
      alone === undefined ? '' : `${(evaluationsPerMinute / alone).toFixed(2)}×`,
      ...[String(tiers!.screen), String(tiers!.accept)],
      ...[by!.compile, by!.verify, by!.time, by!.idle, workers * long].map(seconds),
    ]);
  });
  const { problem, workload, device, cores, rounds } = recordings[0]!;
  return `${markdownTable([{ title: 'code' }, ...columns, ...spent], cells)}

${problem}, ${workload}, ${device}, GPUs of one host with ${cores} cores: ${rounds[0]!.evaluations} evaluations of a random search, where nothing else is said. Seconds are sums over the GPUs.`;
}

/** Evaluations a minute by the number of workers; several counts beside each other, in their order. */
export async function throughputBlocks(): Promise<Record<string, string>> {
  const { problem, workload, cores, rounds, sameAsAlone } = await recorded<WorkersRecording>('virtual-workers');
  const cells = [...Map.groupBy(rounds, ({ workers }) => workers)].map(([workers, of]) => [
    workers === 1 ? "1, in the run's own process" : `${workers} processes`,
    of.map((round) => round.cpuSecondsPerEvaluation.toFixed(2)).join(' and '),
    of.map((round) => round.evaluationsPerMinute.toFixed(0)).join(' and '),
    of.map(({ load }) => load.toFixed(1)).join(' and '),
  ]);
  const columns = [{ title: 'workers' }, right('CPU time for each, s'), right('evaluations a minute'), right('load')];
  const devices = [...new Set(rounds.flatMap((round) => round.devices))].join(', ');
  const searched = [...new Set(rounds.map(({ evaluations }) => evaluations))].join(' or ');
  const { same, different } = sameAsAlone;
  return {
    'whole-runs': await wholeRuns(),
    'shared-gpu': await sharedGpu(),
    'gpu-worker-throughput': await gpuWorkers(),
    'gpu-worker-seconds': await gpuWorkerSeconds(),
    'worker-throughput': `${markdownTable(columns, cells)}

${problem}, ${workload}, on ${devices}: ${searched} evaluations a search, on ${formatCount(cores, 'core')}. Load: processes that wanted a core, in the minute before the end.
Of ${formatCount(same + different.length, 'evaluation')} by several workers, ${same} found what one worker found, to the digit.`,
  };
}
