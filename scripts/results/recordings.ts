import { readFile, writeFile } from 'node:fs/promises';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { ParameterValues } from '../../src/core/kernel.ts';
import type { AuditReport } from '../../src/evaluation/audit/audit.ts';
import type { RunView } from '../../src/reports/run-view.ts';

/** The repository's root. */
export const ROOT = new URL('../../', import.meta.url);
const FOLDER = new URL('docs/results/', ROOT);

/** One command as it was typed, and what it printed under `--json`. */
export interface Entry<T> {
  command: string;
  result: T;
}

/** What the results may depend on, beside the files in the repository. */
export interface RecordedWith {
  /** Day of the recording, UTC. */
  date: string;
  warpsmith: string;
  node: string;
  v8: string;
  compiler: string;
}

export interface Recording<T> {
  schemaVersion: 1;
  recordedWith: RecordedWith;
  entries: Entry<T>[];
}

/** An evaluation without wall times, absolute paths and per-line counters. */
export type RecordedEvaluation = Omit<Evaluation, 'elapsedMs'>;
/** A run without its id, clock times and machine. */
export type RecordedRun = Omit<
  RunView,
  'runId' | 'startedAt' | 'finishedAt' | 'environment' | 'ledger' | 'reproduction' | 'sources'
>;

/** A kernel's measured time on a real GPU beside the model's prediction from the virtual GPU's counters. */
export interface ModelPair {
  kernel: string;
  parameters: ParameterValues;
  measuredNs: number;
  predictedNs: number;
  intervalNs: readonly [low: number, high: number];
}
export interface ModelComparison {
  device: string;
  description: string;
  /** How the measured times came about. */
  method: string;
  /** Whether constants of the model were set with these pairs. */
  calibrated: boolean;
  pairs: ModelPair[];
}

/** What a real GPU said, recorded by a program of bench/hardware/ and read back by tests. */
export interface HardwareRecording {
  device: string;
  driver: string;
  date: string;
  program: string;
  tool?: string;
  patterns?: unknown[];
  cases?: { form: string }[];
}

const HARDWARE = ['h200-shared-wavefronts', 'h200-tensor-accumulation'] as const;
export type HardwareRecordings = Readonly<Record<(typeof HARDWARE)[number], HardwareRecording>>;

export const readHardwareRecordings = async (): Promise<HardwareRecordings> => {
  const read = async (name: string) => JSON.parse(await readFile(new URL(`${name}.json`, FOLDER), 'utf8')) as unknown;
  return Object.fromEntries(
    await Promise.all(HARDWARE.map(async (name) => [name, await read(name)] as const)),
  ) as HardwareRecordings;
};

/** Every recording, by file name in docs/results/. */
export interface Recordings {
  'attention-ladder': Recording<RecordedEvaluation>;
  'attention-demo': Recording<RecordedRun>;
  'attention-small': Recording<RecordedEvaluation>;
  'attention-audit': Recording<AuditReport>;
  'red-team': Recording<RecordedEvaluation>;
  'row-sum': Recording<RecordedRun>;
  'model-against-h200': Recording<ModelComparison>;
}
export type RecordingName = keyof Recordings;

const fileOf = (name: RecordingName): URL => new URL(`${name}.json`, FOLDER);

export const readRecording = async <N extends RecordingName>(name: N): Promise<Recordings[N]> =>
  JSON.parse(await readFile(fileOf(name), 'utf8')) as Recordings[N];

export const writeRecording = async <N extends RecordingName>(name: N, recording: Recordings[N]): Promise<void> =>
  writeFile(fileOf(name), `${JSON.stringify(recording, undefined, 1)}\n`);

/** All of them; a missing one is an error that says how to make it. */
export const readAllRecordings = async (): Promise<Recordings> => {
  const names: RecordingName[] = [
    'attention-ladder',
    'attention-demo',
    'attention-small',
    'attention-audit',
    'red-team',
    'row-sum',
    'model-against-h200',
  ];
  const pairs = await Promise.all(names.map(async (name) => [name, await readRecording(name)] as const));
  return Object.fromEntries(pairs) as unknown as Recordings;
};
