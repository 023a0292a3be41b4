import type { ParameterValues } from '../../src/core/kernel.ts';
import type { Column } from '../../src/reports/document.ts';
import { formatMeasuredNs, formatNs, formatRatioInterval } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';

/** How one problem's run ended. */
export interface OptimisedProblem {
  problem: string;
  workload: string;
  rungs: string[];
  start: { kernel: string; kind: 'measured' | 'predicted'; medianNs: number } | null;
  best: {
    kernel: string;
    parameters: ParameterValues;
    kind: 'measured' | 'predicted';
    medianNs: number;
  } | null;
  /** Start's time ÷ best's time, of one kind; measured: as confirmed. */
  speedup: number | null;
  /** Measured only. */
  intervalRatio: readonly [low: number, high: number] | null;
  confirmation: string | null;
  stopReason: string | null;
  evaluationsUsed: number;
  /** Those of them that confirmed, ablated and advised after the search; absent in older recordings. */
  evaluationsAfterSearch?: number;
  wroteReport: boolean;
  /** Wall time of the command. */
  seconds: number;
}

/** docs/results/problems-*.json: every shipped problem optimised from its start on one device. */
export interface OptimisedProblems {
  schemaVersion: 1;
  device: { id: string; name: string };
  date: string;
  versions: Readonly<Record<string, string>>;
  /** Budget of each run. */
  evaluations: number;
  problems: OptimisedProblem[];
}

const COLUMNS: readonly Column[] = [
  { title: 'Problem' },
  { title: 'Workload' },
  { title: 'From' },
  { title: 'To' },
  { title: 'Speed-up', align: 'right' },
  { title: 'Evaluations', align: 'right' },
  { title: 'Stop reason' },
];

const time = ({ kind, medianNs }: { kind: string; medianNs: number }): string =>
  kind === 'measured' ? `measured ${formatMeasuredNs(medianNs)}` : `predicted ${formatNs(medianNs)}`;

const speedup = ({ speedup, intervalRatio, best }: OptimisedProblem): string => {
  if (speedup === null || !best) return '–';
  return intervalRatio
    ? `${speedup.toFixed(2)}× ${formatRatioInterval(intervalRatio)}`
    : `${best.kind} ${speedup.toFixed(2)}×`;
};

/** What the budget covered when this was recorded. */
const describeBudget = ({ problems, evaluations }: OptimisedProblems): string =>
  problems.some(({ evaluationsUsed }) => evaluationsUsed > evaluations)
    ? `Each search had a budget of ${evaluations} evaluations. When these runs were recorded, the budget did not cover ` +
      'what follows the search: confirmation, ablation and workload advice. Today it does'
    : `Each run had a budget of ${evaluations} evaluations; it covers the search and what follows: confirmation, ablation and workload advice`;

const row = (one: OptimisedProblem): string[] => [
  one.problem,
  one.workload,
  one.start ? `\`${one.start.kernel}\`, ${time(one.start)}` : '–',
  one.best ? `\`${one.best.kernel}\`, ${time(one.best)}` : '–',
  speedup(one),
  String(one.evaluationsUsed),
  one.stopReason === null ? '–' : `\`${one.stopReason}\``,
];

/** One row for each problem. */
export const optimisedProblems = (recording: OptimisedProblems): string => {
  const { problems, device, date, versions } = recording;
  return (
    `${markdownTable(COLUMNS, problems.map(row))}\n\n` +
    `${device.name}. ${describeBudget(recording)}. warpsmith ${versions.warpsmith}, ${date}.`
  );
};
