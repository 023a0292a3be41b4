import { readFile } from 'node:fs/promises';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

/** docs/results/checker.json, by bench/virtual-gpu/checker.ts: processor time in milliseconds. */
export interface CheckerRecording {
  readonly schemaVersion: 1;
  /** Day of the last change, UTC. */
  date: string;
  readonly runs: number;
  kernels: readonly CheckerCost[];
}

export interface CheckerCost {
  /** Its folder. */
  readonly kernel: string;
  readonly workload: string;
  readonly plainMs: number;
  readonly checkedMs: number;
  readonly ratio: number;
}

interface CompileTimes {
  readonly toWasmMs: number;
  readonly toMachineCodeMs: number;
  readonly kilobytes: number;
}

/** docs/results/compilation.json, by bench/virtual-gpu/compilation.ts. */
interface CompilationRecording {
  readonly date: string;
  readonly kernels: readonly ({ name: string; instructions: number } & Record<Kind, CompileTimes>)[];
}

/** Medians of the launches of one kernel. */
export interface Throughput {
  readonly wallMs: number;
  readonly processorMs: number;
  /** Of the wall's time, and of processor time. */
  readonly gigaflopPer: { readonly second: number; readonly processorSecond: number };
}

/** docs/results/virtual-gpu-throughput.json, by bench/virtual-gpu/main.ts. */
export interface ThroughputRecording {
  readonly schemaVersion: 1;
  /** Day of the recording, UTC. */
  readonly date: string;
  readonly kernel: string;
  readonly threads: number;
  readonly runs: number;
  readonly functional: Throughput;
  readonly counted: Throughput;
  /** Of processor time. */
  readonly countedToFunctionalRatio: number;
}

const KINDS = ['plain', 'counted', 'watched'] as const;
type Kind = (typeof KINDS)[number];

/** Kernels that compile faster have no row. */
const LONG_MS = 100;

const read = async (name: string): Promise<string> => readFile(new URL(`docs/results/${name}`, ROOT), 'utf8');
const right = (title: string) => ({ title, align: 'right' as const });
const nameOf = (folder: string): string => `\`${folder.replace('problems/', '')}\``;

/** How fast a kernel runs; what races cost to look for, by kernel; and how long long kernels compile. */
export async function speedBlocks(): Promise<Record<string, string>> {
  const throughput = JSON.parse(await read('virtual-gpu-throughput.json')) as ThroughputRecording;
  const checker = JSON.parse(await read('checker.json')) as CheckerRecording;
  const compilation = JSON.parse(await read('compilation.json')) as CompilationRecording;
  return {
    'virtual-gpu-throughput': throughputText(throughput),
    'checker-cost': checkerCost(checker),
    'compilation-time': compilationTime(compilation),
  };
}

const throughputText = ({ functional, threads, runs, countedToFunctionalRatio, date }: ThroughputRecording): string =>
  `It executed ${functional.gigaflopPer.second.toFixed(1)} GFLOP a second, ${functional.gigaflopPer.processorSecond.toFixed(1)} per second of processor time, and took ` +
  `${countedToFunctionalRatio.toFixed(2)} times as long to count: ${threads} ${threads === 1 ? 'thread' : 'threads'}, ` +
  `medians of ${runs} alternating pairs, ${date}.`;

function checkerCost({ kernels, runs, date }: CheckerRecording): string {
  const rows = kernels.map(({ kernel, plainMs, checkedMs, ratio }) => [
    nameOf(kernel),
    plainMs.toFixed(1),
    checkedMs.toFixed(1),
    ratio.toFixed(1),
  ]);
  const within = kernels.filter(({ ratio }) => ratio <= 3).length;
  const table = markdownTable([{ title: 'kernel' }, right('plain, ms'), right('watched, ms'), right('ratio')], rows);
  return `${within} of ${kernels.length} kernels take at most three times as long.\n\n${table}\n\nProcessor time of one thread, medians of ${runs} alternating pairs, ${date}.`;
}

function compilationTime({ kernels, date }: CompilationRecording): string {
  const longest = kernels.filter((one) => KINDS.some((kind) => one[kind].toMachineCodeMs >= LONG_MS));
  const rows = longest.map((one) => [
    one.name.startsWith('problems/') ? nameOf(one.name) : one.name,
    String(one.instructions),
    ...KINDS.map((kind) => `${one[kind].toWasmMs} + ${one[kind].toMachineCodeMs}`),
  ]);
  const columns = [{ title: 'kernel' }, right('PTX instructions'), ...KINDS.map((kind) => right(`${kind}, ms`))];
  return `${markdownTable(columns, rows)}\n\nProcessor time from PTX to WebAssembly + from there to optimised machine code, ${date}.`;
}
