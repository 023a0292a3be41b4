import type { Column } from '../../src/reports/document.ts';
import type { LadderView } from '../../src/reports/documents/ladder.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import type { PlainTorchTimes } from './measuring-recordings.ts';

const COLUMNS: readonly Column[] = [
  { title: 'workload' },
  { title: 'call' },
  { title: 'PyTorch alone', align: 'right' },
  { title: 'measured here', align: 'right' },
  { title: 'difference', align: 'right' },
];

/** Largest share by which the two ways of timing may differ without a remark. */
const AGREEMENT = 0.1;

interface Pair {
  workload: string;
  baseline: string;
  plainUs: number;
  oursUs: number;
  /** ours ÷ plain − 1. */
  deviation: number;
}

const pairsOf = (view: LadderView, { times }: PlainTorchTimes): Pair[] =>
  view.rows.flatMap(({ workload, cells }) =>
    Object.entries(times[workload] ?? {}).flatMap(([baseline, plainUs]) => {
      const cell = cells.find(({ contender }) => contender === baseline);
      if (cell?.outcome !== 'measured') return [];
      const oursUs = cell.summary.medianNs / 1000;
      return [{ workload, baseline, plainUs, oursUs, deviation: oursUs / plainUs - 1 }];
    }),
  );

const percent = (deviation: number): string => `${deviation < 0 ? '−' : '+'}${Math.abs(deviation * 100).toFixed(1)} %`;

/** PyTorch's attention as timed here beside the same calls timed by PyTorch alone; the pairs that differ by more than 10 %. */
export const sdpaAgreement = (view: LadderView, plain: PlainTorchTimes): string => {
  const pairs = pairsOf(view, plain);
  const apart = pairs.filter(({ deviation }) => !(Math.abs(deviation) <= AGREEMENT));
  const summary =
    `**${pairs.length - apart.length} of ${pairs.length}** times of PyTorch’s attention are within 10 % of what PyTorch alone ` +
    `reads for the same calls (${plain.method}; ${plain.device}).`;
  if (apart.length === 0) return summary;
  const rows = apart.map(({ workload, baseline, plainUs, oursUs, deviation }) => [
    workload,
    baseline,
    `${plainUs} µs`,
    `${oursUs.toFixed(2)} µs`,
    percent(deviation),
  ]);
  return `${summary} The others:\n\n${markdownTable(COLUMNS, rows)}`;
};
