import { readFile } from 'node:fs/promises';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

/** docs/results/attention-throughput.json, by bench/virtual-gpu/throughput.ts: one thread. */
export interface AttentionThroughput {
  readonly schemaVersion: 1;
  /** Day of the last change, UTC. */
  date: string;
  readonly workload: string;
  readonly runs: number;
  kernels: readonly RungThroughput[];
}

/** Medians of processor time. */
export interface RungThroughput {
  /** Its folder. */
  readonly kernel: string;
  readonly device: string;
  readonly plainMs: number;
  readonly countedMs: number;
  /** FLOP that the problem asks for, without counters. */
  readonly gigaflopPerProcessorSecond: number;
}

const right = (title: string) => ({ title, align: 'right' as const });

/** How fast attention's kernels run. */
export async function attentionThroughputBlocks(): Promise<Record<string, string>> {
  const text = await readFile(new URL('docs/results/attention-throughput.json', ROOT), 'utf8');
  const { kernels, workload, runs, date } = JSON.parse(text) as AttentionThroughput;
  const table = markdownTable(
    [{ title: 'kernel' }, { title: 'device' }, right('GFLOP per second of processor time'), right('counted ÷ plain')],
    kernels.map(({ kernel, device, plainMs, countedMs, gigaflopPerProcessorSecond }) => [
      `\`${kernel.replace('problems/', '')}\``,
      `\`${device}\``,
      gigaflopPerProcessorSecond.toFixed(2),
      (countedMs / plainMs).toFixed(2),
    ]),
  );
  return {
    'attention-throughput': `${table}\n\n${workload}, one thread, medians of ${runs} alternating pairs, ${date}.`,
  };
}
