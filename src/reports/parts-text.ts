import { formatFigure, formatNs, formatParameters, formatRatio, formatRatioInterval, formatTime } from './format.ts';
import { formatPercent } from './measurement-text.ts';
import type { RunView } from './run-view.ts';
import type { Column } from './table.ts';
import type { AblationRow } from './view/ablation.ts';
import type { LedgerLine } from './view/ledger.ts';
import type { Objective, WorkloadOutcome } from './view/objective.ts';
import type { OptionRow, OptionsTable } from './view/options-tables.ts';
import type { RooflineView } from './view/roofline.ts';
import type { SourceDiff } from './view/source-diffs.ts';

/** Words and tables of the report's parts, the same in every format. */

/** `guided by findings`, or what else chose the candidates. */
export const describeStrategy = ({ strategy, diagnosis }: Objective): string => {
  if (strategy !== 'guided') return `${strategy}, which asks no findings`;
  return diagnosis ? 'guided by findings' : 'guided, but with diagnosis off';
};

/** `0.10 of 5 min`, `1.20 min, no limit`. */
function describeSpent({ used, limit, unit }: LedgerLine): string {
  const suffix = unit === '' ? '' : ` ${unit}`;
  const text = used.toFixed(2);
  return limit === null ? `${text}${suffix}, no limit` : `${text} of ${formatFigure(limit)}${suffix}`;
}

/**
 * How the count is composed. Of runs whose limit was the search's alone (those of earlier versions), what followed the
 * search stands beside it.
 */
function evaluationsOf({ evaluationsUsed, evaluationsAfterSearch, budgets }: EvaluationCounts): {
  used: number;
  beyond: string;
} {
  const limit = budgets.maximumEvaluations;
  if (evaluationsAfterSearch === 0) return { used: evaluationsUsed, beyond: '' };
  if (limit === null || evaluationsUsed <= limit)
    return { used: evaluationsUsed, beyond: `${evaluationsAfterSearch} of them after the search` };
  return { used: evaluationsUsed - evaluationsAfterSearch, beyond: `${evaluationsAfterSearch} after the search` };
}

type EvaluationCounts = Pick<RunView, 'evaluationsUsed' | 'evaluationsAfterSearch' | 'budgets'>;

/** `12 of 30`, and `2 of them after the search`. */
export function describeEvaluations(view: EvaluationCounts): { figure: string; beyond: string } {
  const { used, beyond } = evaluationsOf(view);
  const limit = view.budgets.maximumEvaluations;
  return { figure: limit === null ? `${used}` : `${used} of ${formatFigure(limit)}`, beyond };
}

/** `3 of 30 evaluations; wall time 0.10 of 5 min`: what is not limited is left to the ledger. */
export function describeBudget(view: RunView): string {
  const { figure, beyond } = describeEvaluations(view);
  return view.ledger.lines
    .flatMap((line) => {
      if (line.name === 'evaluations') return [`${figure} evaluations${beyond && `, ${beyond}`}`];
      return line.limit === null ? [] : [`${line.name} ${describeSpent(line)}`];
    })
    .join('; ');
}

export const LEDGER_COLUMNS: readonly Column[] = [
  { title: 'Budget' },
  { title: 'Used', align: 'right' },
  { title: 'Limit', align: 'right' },
];

const ledgerUsed = ({ name, used, unit }: LedgerLine, view: RunView): string => {
  if (name !== 'evaluations') return `${used.toFixed(2)}${unit && ` ${unit}`}`;
  const counts = evaluationsOf(view);
  return `${counts.used}${counts.beyond && `, ${counts.beyond}`}`;
};

export const ledgerCells = (view: RunView): string[][] =>
  view.ledger.lines.map((line) => [
    line.name === 'money' ? `money, at ${formatFigure(view.ledger.gpuPricePerHour ?? 0)} per GPU hour` : line.name,
    ledgerUsed(line, view),
    line.limit === null ? 'none' : `${formatFigure(line.limit)}${line.unit && ` ${line.unit}`}`,
  ]);

/** `compiling 1.2 s, verifying 3.4 s, timing 0 ns`. */
export const phasesLine = ({ ledger: { phases } }: RunView): string =>
  [
    `compiling ${formatNs(phases.compileMs * 1e6)}`,
    `verifying ${formatNs(phases.verifyMs * 1e6)}`,
    `timing ${formatNs(phases.timeMs * 1e6)}`,
  ].join(', ');

export const OPTION_COLUMNS: readonly Column[] = [
  { title: 'State' },
  { title: 'Change' },
  { title: 'Value', align: 'right' },
  { title: 'Arithmetic' },
  { title: 'Because of' },
  { title: 'Pattern, kept before' },
  { title: 'Used', align: 'right' },
  { title: 'Failures', align: 'right' },
];

export const optionCells = ({
  change,
  pattern,
  finding,
  evidence,
  value,
  arithmetic,
  used,
  failures,
  state,
}: OptionRow): string[] => [
  state,
  change,
  value.toFixed(3),
  arithmetic,
  `${finding.id} of ${finding.evaluationId}`,
  `${pattern.id}, ${evidence.kept} of ${evidence.attempts}`,
  String(used),
  String(failures),
];

/** `iteration 4: 12 open moves, a share of 1.8 evaluations each`. */
export function optionsTitle({ iteration, share, options, omitted }: OptionsTable): string {
  const open = options.filter(({ state }) => state !== 'abandoned').length + omitted;
  const each = share === null ? '' : `, a share of ${share.toFixed(1)} evaluations each`;
  const hidden = omitted === 0 ? '' : ` (${omitted} of them not listed)`;
  return `iteration ${iteration}: ${open} open ${open === 1 ? 'move' : 'moves'}${hidden}${each}`;
}

/** Open moves that an earlier turn's table shows; report.json has all that were logged. */
const EARLIER_OPTIONS = 8;

/** The best of an earlier turn's open moves and all it gave up: a run of hundreds of turns stays a page. */
export function shortenOptions({ options, omitted, ...turn }: OptionsTable): OptionsTable {
  const open = options.filter(({ state }) => state !== 'abandoned');
  const shown = open.slice(0, EARLIER_OPTIONS);
  return {
    ...turn,
    options: [...shown, ...options.filter(({ state }) => state === 'abandoned')],
    omitted: omitted + open.length - shown.length,
  };
}

export const OPTIONS_NOTE =
  'What could be tried, best value first: (expected gain − 1) × confidence ÷ (evaluations + compiling, in evaluations’ ' +
  'worth). Gains and confidence are expectations, weighed with what the pattern gave before; they are never results.';

/** Of several workloads, the one that the ablation is of: a change may be worth more, or less, on the others. */
export const ablatedWorkload = ({ objective, workload }: RunView): string =>
  objective.workloads.length > 1 ? `On the first workload, ${workload.name}, alone.` : '';

export const ablationNote = (view: RunView): string =>
  [
    'Each line undoes one change of the best and keeps the others: time without the change ÷ time of the best.',
    'Changes work on each other, so the ratios don’t multiply to the speed-up.',
    ablatedWorkload(view),
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');

export const ABLATION_COLUMNS: readonly Column[] = [
  { title: 'Undone' },
  { title: 'Evaluation' },
  { title: 'The change gives', align: 'right' },
  { title: '95 % interval' },
  { title: 'Remark' },
];

export const ablationCells = ({ change, evaluationId, ratio, intervalRatio, reason }: AblationRow): string[] => [
  change,
  evaluationId ?? '–',
  formatRatio(ratio),
  intervalRatio ? formatRatioInterval(intervalRatio) : '–',
  reason ?? '',
];

export const WORKLOAD_COLUMNS: readonly Column[] = [
  { title: 'Workload' },
  { title: 'Weight', align: 'right' },
  { title: 'Start', align: 'right' },
  { title: 'Best', align: 'right' },
  { title: 'Best is', align: 'right' },
  { title: '95 % interval' },
];

const timeCell = (time: WorkloadOutcome['start']): string =>
  time ? `${time.kind} ${formatTime(time.kind, time.medianNs)} (${time.evaluationId})` : '–';

export const workloadCells = ({
  name,
  dimensions,
  cache,
  weight,
  start,
  best,
  ratio,
  intervalRatio,
}: WorkloadOutcome): string[] => [
  `${name} (${formatParameters(dimensions)}; ${cache})`,
  formatFigure(weight),
  timeCell(start),
  timeCell(best),
  formatRatio(ratio),
  intervalRatio ? formatRatioInterval(intervalRatio) : '–',
];

export const vetoLines = ({ vetoes }: Objective): string[] =>
  vetoes.map(
    ({ evaluationId, change, workload, ratio }) =>
      `${change} (${evaluationId}) was vetoed by ${workload}: ${ratio === null ? 'not valid there' : `${formatRatio(ratio)} there`}`,
  );

type WorkloadAdvice = RunView['workloadAdvice'][number];

export const ADVICE_NOTE =
  'How the best kernel fills the device as the work grows. The rows do different amounts of work, so none of this is a speed-up.';

export const adviceColumns = ({ dimensions }: WorkloadAdvice): readonly Column[] => [
  { title: dimensions.join('·'), align: 'right' },
  { title: 'Workload' },
  { title: 'Evaluation' },
  { title: 'Time', align: 'right' },
  { title: 'Attainable', align: 'right' },
  { title: 'Of attainable', align: 'right' },
];

export const adviceCells = (row: WorkloadAdvice['rows'][number]): string[] => [
  formatFigure(row.product),
  row.workload,
  row.evaluationId ?? '–',
  row.medianNs === null ? '–' : `${row.kind} ${formatTime(row.kind, row.medianNs)}`,
  row.attainableNs === null ? '–' : formatNs(row.attainableNs),
  row.attainedRatio === null ? '–' : formatPercent(row.attainedRatio),
];

const UNITS = [
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const;

/** `1.23 T`. */
export function formatPrefixed(value: number): string {
  const [scale, prefix] = UNITS.find(([size]) => value >= size) ?? [1, ''];
  return `${formatFigure(value / scale)} ${prefix}`;
}

/** `1.23 TFLOP/s`. */
export const formatRate = (perSecond: number, unit: string): string => `${formatPrefixed(perSecond)}${unit}/s`;

/** Work, roofs and bounds in lines. */
export function rooflineLines({
  workload,
  flop,
  minimumFlop,
  minimumReadBytes,
  veto,
  attainable,
  vetoNs,
  attainableNs,
}: RooflineView): string[] {
  const roof = ({ flopPerSecond, computeSource, bytesPerSecond, memorySource }: RooflineView['veto']) =>
    [
      `${formatRate(flopPerSecond, 'FLOP')} (${computeSource})`,
      bytesPerSecond === null ? 'no bound by memory' : `${formatRate(bytesPerSecond, 'B')} (${memorySource})`,
    ].join(', ');
  return [
    `${workload}: ${formatFigure(flop)} FLOP, ${formatFigure(minimumFlop)} of them unavoidable; at least ${formatFigure(minimumReadBytes)} B read`,
    ...(vetoNs > 0 ? [`provable: no kernel can be faster than ${formatNs(vetoNs)}; roofs ${roof(veto)}`] : []),
    `attainable: ${formatNs(attainableNs)}; roofs ${roof(attainable)}`,
  ];
}

/** `kernel.cu +12 −3`, or that sources are the same. */
export function diffSummary({ files, missing }: SourceDiff): string {
  const parts = files.map(({ file, status, addedLines, removedLines }) => {
    const word = status === 'changed' ? '' : ` (${status})`;
    return `${file}${word} +${addedLines} −${removedLines}`;
  });
  const gone = missing.map((file) => `${file}: no longer in the run’s folder`);
  return [...parts, ...gone].join(', ') || 'the same sources: only parameters differ';
}

/** A diff as `diff -u` prints it. */
export const unifiedDiff = ({ from, to, files }: SourceDiff): string =>
  files
    .flatMap(({ file, hunks }) => [
      `--- ${from.candidate.kernel}/${file}`,
      `+++ ${to.candidate.kernel}/${file}`,
      ...hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
        `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
        ...lines,
      ]),
    ])
    .join('\n');
