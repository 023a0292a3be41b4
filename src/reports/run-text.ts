import type { Finding } from '../core/finding.ts';
import type { Timing } from '../core/timing.ts';
import {
  formatFigure,
  formatInterval,
  formatParameters,
  formatRatio,
  formatRatioInterval,
  formatTime,
  formatTiming,
} from './format.ts';
import type { Confirmation, ProgressionRow, RunView, Stage, TimeFigure } from './run-view.ts';
import type { Column } from './table.ts';

/** Words and tables that the terminal and the Markdown report share. */

/** One column of the progression, and what it holds. */
interface ProgressionColumn extends Column {
  cell: (row: ProgressionRow) => string;
}

const timeColumns = (kind: Timing['kind'] | undefined): ProgressionColumn[] => [
  {
    title: kind === undefined ? 'Time' : `${kind === 'predicted' ? 'Predicted' : 'Measured'} time`,
    align: 'right',
    cell: ({ time }) => (time ? formatTime(time.kind, time.medianNs) : '–'),
  },
  { title: 'Interval', cell: ({ time }) => (time ? formatInterval(time.kind, time.intervalNs) : '–') },
];

/** Where a run is about several workloads, which of them a row is on. */
const WORKLOAD: ProgressionColumn = { title: 'Workload', cell: ({ workload }) => workload };

const PREVIOUS_BEST: ProgressionColumn = {
  title: '× previous best',
  align: 'right',
  cell: ({ ratioToPreviousBest }) => formatRatio(ratioToPreviousBest),
};

/** A screen is too short for a verdict. */
export const verdictCell = ({ stage, verdict }: ProgressionRow): string =>
  stage === 'screen' ? 'screened' : (verdict ?? '–');

/** Measured only: how sure the ratio is, and what it amounts to. */
const VERDICT_COLUMNS: readonly ProgressionColumn[] = [
  { title: 'Ratio interval', cell: ({ intervalRatio }) => (intervalRatio ? formatRatioInterval(intervalRatio) : '–') },
  { title: 'Verdict', cell: verdictCell },
];

/** Which kind of time the run is about, so that no figure in a table can be read as the other kind. */
export const kindOf = (view: RunView): Timing['kind'] | undefined => (view.best ?? view.start)?.kind;

/** The progression's columns; measured runs have verdicts beside their ratios. */
export function progressionColumns(view: RunView): readonly ProgressionColumn[] {
  const kind = kindOf(view);
  return [
    { title: 'Iteration', align: 'right', cell: ({ iteration }) => String(iteration) },
    { title: 'Evaluation', cell: ({ evaluationId }) => evaluationId },
    { title: 'Change', cell: ({ change }) => change },
    ...(isAboutSeveral(view) ? [WORKLOAD] : []),
    { title: 'Why', cell: whyCell },
    { title: 'Result', cell: ({ status }) => status },
    ...timeColumns(kind),
    PREVIOUS_BEST,
    ...(kind === 'measured' ? VERDICT_COLUMNS : []),
    { title: '× start', align: 'right', cell: ({ ratioToStart }) => formatRatio(ratioToStart) },
    { title: 'Decision', cell: ({ decision }) => decision ?? '–' },
  ];
}

/** Rows of the first workload alone need not say so. */
const isAboutSeveral = ({ progression, workload }: RunView): boolean =>
  progression.some((row) => row.workload !== workload.name);

const STAGE_WHYS: Readonly<Record<Exclude<Stage, 'judge' | 'screen'>, string>> = {
  confirm: 'the winner again, with a fresh seed',
  ablation: 'what this change of the best is worth',
  'workload-advice': 'how the best fills the device',
};

/** What findings a strategy other than guided gives for its candidates. */
export const NO_FINDING = 'none';

export function whyCell({ why, stage }: ProgressionRow): string {
  if (stage !== 'judge' && stage !== 'screen') return STAGE_WHYS[stage];
  if (!why) return 'where every run begins';
  return why.finding === NO_FINDING
    ? `asked for by ${why.pattern}`
    : `${why.finding} of ${why.evaluationId}: ${why.evidence}`;
}

/** What every figure of the run is, for the reader who looks at nothing else. */
export function kindNote(view: RunView): string {
  const kind = kindOf(view);
  if (kind === undefined) return '';
  return {
    predicted:
      'All times are **predicted** by a model of the device, with its interval; nothing here was measured on hardware.',
    measured:
      'All times are **measured**, with 95 % intervals. × previous best comes from the same blocks and has a verdict; ' +
      '× start divides medians of different blocks and is for orientation; only the confirmation says how much faster ' +
      'the best is than the start.',
  }[kind];
}

/** `predicted 870 µs [610 µs … 1.2 ms] (e7)`. */
export const describeTime = (time: TimeFigure): string => `${formatTiming(time)} (${time.evaluationId})`;

/** `measured 1.402× faster [1.382, 1.421] than the start on 20 fresh blocks`, or why nothing can be said. */
export function describeConfirmation({
  evaluationId,
  candidate,
  ratio,
  intervalRatio,
  verdict,
  outcome,
  reason,
}: Confirmation): string {
  if (outcome === 'refused' || ratio === null || intervalRatio === null)
    return `${candidate.kernel} (${evaluationId}): ${outcome}: ${reason}`;
  return `${candidate.kernel} (${evaluationId}): ${outcome}: ${verdict}, measured ${ratio.toFixed(3)}× the speed of the start ${formatRatioInterval(intervalRatio)} on fresh blocks`;
}

/** How much faster the best is, as sure as is known. */
function describeSpeedup({ best, speedup, confirmations, objective }: RunView): string {
  const confirmation = confirmations.at(-1);
  if (speedup === null) return `${best!.kind}, but not confirmed on fresh blocks`;
  const interval = confirmation?.intervalRatio ? ` ${formatRatioInterval(confirmation.intervalRatio)}` : '';
  const sanitized = confirmation ? `, ${confirmation.outcome}` : '';
  const { length: count } = objective.workloads;
  const mean = count > 1 ? ` over ${count} workloads (weighted geometric mean)` : '';
  return `${best!.kind} ${speedup.toFixed(2)}× faster than the start${mean}${interval}${sanitized}`;
}

/** The run's result in one sentence. */
export function headline(view: RunView): string {
  const { start, best } = view;
  if (!start) return 'The start has no valid time, so there is nothing to improve on.';
  if (!best) return `The start: ${describeTime(start)}.`;
  if (best.evaluationId === start.evaluationId)
    return `No change was kept; the start remains the best: ${describeTime(start)}.`;
  return `${describeSpeedup(view)}: ${describeTime(start)} → ${describeTime(best)}.`;
}

export function describeWorkload(view: RunView): string {
  const { name, dimensions, cache } = view.workload;
  return `${name} (${formatParameters(dimensions)}; ${cache} cache)`;
}

/** The counter evidence of a finding, threshold included. */
export const describeEvidence = (finding: Finding): string =>
  finding.evidence
    .map(({ counter, value, unit, threshold, comparison, where }) => {
      const figure = `${formatFigure(value)}${unit ? ` ${unit}` : ''}`;
      return `${counter} ${figure} (${comparison} ${formatFigure(threshold)})${where ? ` in ${where}` : ''}`;
    })
    .join('; ');

/** `estimated gain 1.95×`; findings without an estimate say so. */
export const describeGain = ({ estimatedSpeedup }: Pick<Finding, 'estimatedSpeedup'>): string =>
  estimatedSpeedup > 1 ? `estimated gain ${estimatedSpeedup.toFixed(2)}×` : 'no estimate of the gain';

/** One that costs nothing as things are: `bank conflicts: … [bank-conflicts]: …`. */
export const describeHidden = (finding: Finding): string =>
  `${finding.title} [${finding.id}]: ${describeEvidence(finding)}`;

export const HIDDEN_TITLE = 'Hidden as long as something else binds';

export const describeFinding = (finding: Finding): string =>
  `${finding.title} [${finding.id}], ${describeGain(finding)}: ${describeEvidence(finding)}`;

/** What the best changed against the start, one line each. */
export function changeLines(view: RunView): string[] {
  const { changes } = view;
  if (!changes) return [];
  const lines: string[] = [];
  if (changes.kernel) lines.push(`kernel: ${changes.kernel.from} → ${changes.kernel.to}`);
  for (const { name, from, to } of changes.parameters) lines.push(`${name}: ${from ?? '(none)'} → ${to ?? '(none)'}`);
  return lines.length > 0 ? lines : ['nothing: the start is the best'];
}

function whyTried({ why, change }: ProgressionRow): string {
  if (!why) return change === 'start' ? 'the start' : 'tried';
  return why.finding === NO_FINDING ? `asked for by ${why.pattern}` : `tried for ${why.finding} (${why.evaluationId})`;
}

export const revertedLine = (row: ProgressionRow): string => {
  const why = whyTried(row);
  return `${row.evaluationId}: ${row.change}: ${why}: ${row.reason}`;
};
