import { readFile } from 'node:fs/promises';
import { formatCount } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

/** docs/results/virtual-workers.json, by bench/workers/throughput.ts. */
interface ThroughputRecording {
  readonly problem: string;
  readonly workload: string;
  readonly cores: number;
  readonly rounds: readonly {
    readonly workers: number;
    readonly devices: readonly string[];
    readonly evaluations: number;
    readonly evaluationsPerMinute: number;
    readonly cpuSecondsPerEvaluation: number;
    /** Processes that wanted a core. */
    readonly load: number;
  }[];
  readonly sameAsAlone: { readonly same: number; readonly different: readonly string[] };
}

const right = (title: string) => ({ title, align: 'right' as const });

/** Evaluations a minute by the number of workers; several counts beside each other, in their order. */
export async function throughputBlocks(): Promise<Record<string, string>> {
  const text = await readFile(new URL('docs/results/virtual-workers.json', ROOT), 'utf8');
  const { problem, workload, cores, rounds, sameAsAlone } = JSON.parse(text) as ThroughputRecording;
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
    'worker-throughput': `${markdownTable(columns, cells)}

${problem}, ${workload}, on ${devices}: ${searched} evaluations a search, on ${formatCount(cores, 'core')}. Load: processes that wanted a core, in the minute before the end.
Of ${formatCount(same + different.length, 'evaluation')} by several workers, ${same} found what one worker found, to the digit.`,
  };
}
