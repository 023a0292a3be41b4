// Runs warpsmith and records what it prints, for the figures and tables of the documentation: npm run results
//   node scripts/record-results.ts red-team row-sum     only these, by their names in docs/results/
//
// Every recording is the --json of a command that a user could type, without wall times and paths, so that recording
// again on another machine changes nothing but dates and versions.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LaunchCounters } from '../src/core/counters.ts';
import type { Evaluation } from '../src/core/evaluation.ts';
import type { KernelFile, ParameterValues } from '../src/core/kernel.ts';
import type { ProblemFile } from '../src/core/problem.ts';
import type { AuditReport } from '../src/evaluation/audit/audit.ts';
import { DEVICE_SPECS } from '../src/hardware/device-specs.ts';
import { predictTime } from '../src/hardware/launch-model/predict-time.ts';
import type { RunView } from '../src/reports/run-view.ts';
import { expectedOf, redTeamKernels } from '../test/red-team/expected.ts';
import {
  type Entry,
  type ModelComparison,
  type RecordedEvaluation,
  type RecordedRun,
  type RecordedWith,
  type Recordings,
  ROOT,
  writeRecording,
} from './results/recordings.ts';

const root = fileURLToPath(ROOT);
const WORKLOAD = 'b1h8s512d64';
const DEVICES = ['virtual:l4', 'virtual:h200'];

/** Runs one command line; its stdout is one JSON object whatever the verdict was. */
const warpsmith = async <T>(args: readonly string[]): Promise<T> => {
  const child = spawn(process.execPath, ['bin/warpsmith.mjs', ...args, '--json'], {
    cwd: root,
    // What is recorded here is found here.
    env: { ...process.env, WARPSMITH_REPEATS: 'off', WARPSMITH_JOURNAL: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => child.once('close', resolve));
  // Folders of the repository as they are typed, not where this checkout lies.
  const text = Buffer.concat(chunks).toString('utf8').replaceAll(root, '');
  const printed = JSON.parse(text) as T & { error?: { message: string } };
  if (printed.error) throw new Error(`warpsmith ${args.join(' ')}: ${printed.error.message}`);
  return printed;
};

const commandOf = (args: readonly string[]): string => ['warpsmith', ...args].join(' ');

const trimEvaluation = ({ elapsedMs: _, ...evaluation }: Evaluation): RecordedEvaluation => ({
  ...evaluation,
  ...(evaluation.counters && {
    counters: {
      ...evaluation.counters,
      launches: evaluation.counters.launches.map((launch) => ({ ...launch, lines: [] })),
    },
  }),
});

const evaluate = async (folder: string, ...options: string[]): Promise<Entry<RecordedEvaluation>> => {
  const args = ['evaluate', folder, ...options, '--seed', '1'];
  process.stderr.write(`${commandOf(args)}\n`);
  return { command: commandOf(args), result: trimEvaluation(await warpsmith<Evaluation>(args)) };
};

/** A run in a store of its own, which is gone afterwards. */
const optimize = async (args: readonly string[]): Promise<{ entry: Entry<RecordedRun>; view: RunView }> => {
  const store = await mkdtemp(join(tmpdir(), 'warpsmith-results-'));
  try {
    const { runFolder, reportPath, bestFolder, bestKernelPath, ...view } = await warpsmith<
      RunView & Record<'runFolder' | 'reportPath' | 'bestFolder' | 'bestKernelPath', string>
    >([...args, '--store', store]);
    const { runId, startedAt, finishedAt, environment, ledger, reproduction, sources, ...result } = view;
    return { entry: { command: commandOf(args), result }, view };
  } finally {
    await rm(store, { recursive: true, force: true });
  }
};

const versionsOf = ({ environment, startedAt }: RunView): RecordedWith => ({
  date: startedAt.slice(0, 10),
  warpsmith: environment.warpsmith!,
  node: environment.node!,
  v8: environment.v8!,
  compiler: environment.compiler!,
});

const readJson = async <T>(path: string): Promise<T> => JSON.parse(await readFile(join(root, path), 'utf8')) as T;

/** The arguments of `npm run demo`, so that the figure shows what a newcomer will see. */
const demoArguments = async (): Promise<string[]> => {
  const { scripts } = await readJson<{ scripts: { demo: string } }>('package.json');
  return scripts.demo.replace(/^node bin\/warpsmith\.mjs /, '').split(' ');
};

const ladder = async (): Promise<Entry<RecordedEvaluation>[]> => {
  const { rungs } = await readJson<ProblemFile>('problems/attention/problem.json');
  const entries: Entry<RecordedEvaluation>[] = [];
  for (const device of DEVICES)
    for (const rung of rungs) {
      const { source, limits = [] } = await readJson<KernelFile>(`problems/attention/${rung}/kernel.json`);
      // What virtual GPUs don't run, and what is for one query.
      if (source.architectures || limits.includes('S == 1')) continue;
      // The table is of counts and predictions; tests verify the rungs, and a thorough evaluation of all takes more than an hour.
      const options = ['--device', device, '--workload', WORKLOAD, '--checks', 'usual'];
      entries.push(await evaluate(`problems/attention/${rung}`, ...options));
    }
  return entries;
};

/** Two CTAs on 58 SMs: what `parallelism` is about. */
const small = (): Promise<Entry<RecordedEvaluation>> =>
  evaluate(
    'problems/attention/04_warp',
    ...['--device', 'virtual:l4', '--workload', 'b1h1s128d64', '--set', 'BLOCK_M=64'],
  );

const redTeam = async (): Promise<Entry<RecordedEvaluation>[]> => {
  const entries: Entry<RecordedEvaluation>[] = [];
  for (const name of redTeamKernels()) {
    const { workload, thorough } = expectedOf(name, 'virtual');
    const options = ['--device', 'virtual:l4', '--workload', workload, '--run-timeout', '20'];
    const checks = thorough ? ['--checks', 'thorough'] : [];
    const { command, result } = await evaluate(`test/red-team/${name}`, ...options, ...checks);
    // Which shapes were drawn is a third of the file, and no page shows it of these kernels.
    const { coverage: _, ...verdict } = result;
    entries.push({ command, result: verdict });
  }
  return entries;
};

const audit = async (): Promise<Entry<AuditReport>> => {
  const args = ['audit', 'problems/attention'];
  return { command: commandOf(args), result: await warpsmith<AuditReport>(args) };
};

/** Kernels whose times were measured on a real H200; the first set calibrated the model. */
const MEASURED = [
  { file: 'test/fixtures/h200-attention-times.json', calibrated: true },
  { file: 'test/fixtures/h200-small-kernel-times.json', calibrated: false },
];
interface MeasuredTimes {
  description: string;
  method: string;
  runs: { kernel: string; parameters: ParameterValues; measuredUs: number; counters: LaunchCounters }[];
}

/** The model on the counters of one set. */
const modelAgainstH200 = async ({ file, calibrated }: (typeof MEASURED)[number]): Promise<Entry<ModelComparison>> => {
  const { description, method, runs } = await readJson<MeasuredTimes>(file);
  const spec = DEVICE_SPECS.get('h200')!;
  const pairs = runs.map(({ kernel, parameters, measuredUs, counters }) => {
    const { medianNs, intervalNs } = predictTime([counters], spec, { vetoNs: 0, attainableNs: 0 });
    return { kernel, parameters, measuredNs: measuredUs * 1000, predictedNs: medianNs, intervalNs };
  });
  return {
    command: `the time model on the counters in ${file}`,
    result: { device: spec.name, description, method, calibrated, pairs },
  };
};

/** The cheapest run, which says the versions of everything. */
const { entry: rowSum, view } = await optimize(['optimize', 'examples/row-sum', '--device', 'virtual:l4']);

const RECORDERS: { readonly [N in keyof Recordings]: () => Promise<Recordings[N]['entries']> } = {
  'attention-demo': async () => [(await optimize(await demoArguments())).entry],
  'attention-ladder': ladder,
  'attention-small': async () => [await small()],
  'attention-audit': async () => [await audit()],
  'red-team': redTeam,
  'model-against-h200': () => Promise.all(MEASURED.map(modelAgainstH200)),
  'row-sum': async () => [rowSum],
};

const known = Object.keys(RECORDERS) as (keyof Recordings)[];
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(known as string[]).includes(name));
if (unknown.length > 0) throw new Error(`no recording is called ${unknown.join(', ')}; there are ${known.join(', ')}`);
for (const name of known.filter((each) => asked.length === 0 || asked.includes(each))) {
  const recording = { schemaVersion: 1, recordedWith: versionsOf(view), entries: await RECORDERS[name]() };
  await writeRecording(name, recording as Recordings[typeof name]);
}
