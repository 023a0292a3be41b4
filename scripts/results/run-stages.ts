import { readFile } from 'node:fs/promises';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

export type StageName =
  | 'start'
  | 'screens'
  | 'longer measurements'
  | 'profiles'
  | 'confirmation'
  | 'ablation'
  | 'other workloads'
  | 'between evaluations';

const STAGES: readonly StageName[] = [
  ...(['start', 'screens', 'longer measurements', 'profiles'] as const),
  ...(['confirmation', 'ablation', 'other workloads', 'between evaluations'] as const),
];

/** What the seconds of a run of `optimize` on one GPU went to. */
export interface RunStages {
  readonly problem: string;
  readonly workload: string;
  readonly device: string;
  /** Of the host, with its number of cores. */
  readonly processor: string;
  readonly startedAt: string;
  /** What else the machine did. */
  readonly beside: string;
  /** Which state of the code ran, where that matters. */
  readonly code: string;
  /** Whether its log goes to the end: machine time may have run out before. */
  readonly isWhole: boolean;
  readonly seconds: number;
  readonly evaluations: number;
  readonly stages: Partial<Readonly<Record<StageName, { readonly count: number; readonly seconds: number }>>>;
  /** Of a longer measurement, for each of its blocks, the comparison with the oracle included; null if there was none. */
  readonly secondsOfABlock: number | null;
}

/** docs/results/gpu-run-stages.json, by bench/workers/where-time-goes.ts. */
export interface RunStagesRecording {
  readonly schemaVersion: 1;
  readonly runs: RunStages[];
}

const right = (title: string) => ({ title, align: 'right' as const });

function cell(stage: RunStages['stages'][StageName]): string {
  if (!stage) return '';
  return stage.count > 1 ? `${stage.seconds.toFixed(0)} (${stage.count})` : stage.seconds.toFixed(0);
}

/** Seconds of each stage of each run, with how many evaluations it had. */
export async function runStagesBlocks(): Promise<Record<string, string>> {
  const text = await readFile(new URL('docs/results/gpu-run-stages.json', ROOT), 'utf8');
  const { runs } = JSON.parse(text) as RunStagesRecording;
  const columns = [
    { title: 'problem' },
    { title: 'code' },
    ...[...STAGES, 'in all', 'evaluations a minute', 'a block of a longer measurement'].map(right),
  ];
  const cells = runs.map(({ problem, code, stages, seconds, evaluations, isWhole, secondsOfABlock }) => [
    problem,
    code,
    ...STAGES.map((stage) => cell(stages[stage])),
    isWhole ? seconds.toFixed(0) : `${seconds.toFixed(0)}, cut off`,
    isWhole ? ((60 * evaluations) / seconds).toFixed(1) : '',
    secondsOfABlock?.toFixed(2) ?? '',
  ]);
  return { 'gpu-run-stages': markdownTable(columns, cells) };
}
