import type { JournalMark } from '../../core/evaluation.ts';
import type { Timing } from '../../core/timing.ts';
import { type ColumnOf, figures, type Inline, link, names, warn, words } from '../document.ts';
import {
  formatCandidate,
  formatFigure,
  formatInterval,
  formatRatio,
  formatRatioInterval,
  formatTime,
  formatTiming,
} from '../format.ts';
import type { ProgressionRow, RunView, Stage, TimeFigure } from '../run-view.ts';
import type { LedgerLine } from '../view/ledger.ts';
import type { EnergyFigure, MinimisedEnergy } from '../view/minimised-energy.ts';
import type { BestChanges } from '../view/outcome.ts';
import { formatJoules } from './energy.ts';
import { NO_FINDING } from './findings.ts';

/** Why a virtual device does not repeat an evaluation. */
export const SAME = 'kernel, problem, workload, seed, device, compiler and version are the same';

/** `attempt a12, after a9: see warpsmith log`. */
export const journalLine = (mark: JournalMark): Inline =>
  'notKept' in mark
    ? warn(`not in the journal: ${mark.notKept}`)
    : `attempt ${mark.attempt}${mark.parent === null ? '' : `, after ${mark.parent}`}: see warpsmith log`;

/** Leads to the evaluation's row in the table of all of them, which names its candidate and its reason. */
export const evaluationLink = (id: string | null): Inline => (id === null ? '–' : link(id, `evaluation-${id}`));

/** `words (e7)`, e7 leading to its row. */
export const cited = (said: string, id: string | null): Inline => [`${said} (`, evaluationLink(id), ')'];

/** Whether the run's times are measured or predicted. Tables name it, so that no figure is mistaken. */
export const kindOf = (view: RunView): Timing['kind'] | undefined => (view.best ?? view.start)?.kind;

/** A screen is too short for a verdict. */
export const verdictCell = ({ stage, verdict }: ProgressionRow): string =>
  stage === 'screen' ? 'screened' : (verdict ?? '–');

const STAGE_WHYS: Readonly<Record<Exclude<Stage, 'judge' | 'screen'>, string>> = {
  confirm: 'the winner again, with another seed',
  ablation: 'the gain of this change of the best',
  'workload-advice': 'how the best fills the device',
};

/** `for bank-conflicts of e1`; for a blind strategy, which one asked. */
const describeWhy = ({ finding, pattern, evaluationId }: NonNullable<ProgressionRow['why']>): Inline =>
  finding === NO_FINDING ? `as ${pattern} asked` : [`for ${finding} of `, evaluationLink(evaluationId)];

/** Why an evaluation was made: the finding with its evidence. */
function whyCell({ why, stage }: ProgressionRow): Inline {
  if (stage !== 'judge' && stage !== 'screen') return STAGE_WHYS[stage];
  if (!why) return 'where every run begins';
  return [describeWhy(why), why.finding === NO_FINDING ? '' : `: ${why.evidence}`];
}

/** The finding alone. */
export function becauseOf({ why }: ProgressionRow): string {
  if (!why) return '–';
  return why.finding === NO_FINDING ? why.pattern : `${why.finding} (${why.evaluationId})`;
}

export function revertedLine(row: ProgressionRow): Inline {
  const tried = row.why ? ['tried ', describeWhy(row.why)] : row.change === 'start' ? 'the start' : 'tried';
  return [evaluationLink(row.evaluationId), `: ${row.change}: `, tried, `: ${row.reason}`];
}

/** `predicted 870 µs [610 µs … 1.2 ms] (e7)`. */
const describeTime = (time: TimeFigure): Inline => cited(formatTiming(time), time.evaluationId);

type Confirmation = RunView['confirmations'][number];

/** `measured 1.402× faster [1.382, 1.421] than the start on 20 fresh blocks`, or why nothing can be said. */
export function describeConfirmation({ evaluationId, candidate, ratio, intervalRatio, ...rest }: Confirmation): Inline {
  const { verdict, energy, outcome, reason } = rest;
  const said =
    outcome === 'refused' || ratio === null || intervalRatio === null || energy
      ? reason
      : `${verdict}, measured ${ratio.toFixed(3)}× the speed of the start ${formatRatioInterval(intervalRatio)} on fresh blocks`;
  return [cited(candidate.kernel, evaluationId), `: ${outcome}: ${said}`];
}

/** The speed-up of the best, with its interval and confirmation if there are any. */
function describeSpeedup({ best, speedup, confirmations, objective }: RunView): string {
  const confirmation = confirmations.at(-1);
  if (speedup === null)
    return `A faster time was ${best!.kind}, but not confirmed on fresh blocks, so no speed-up is claimed`;
  const interval = confirmation?.intervalRatio ? ` ${formatRatioInterval(confirmation.intervalRatio)}` : '';
  const sanitized = confirmation ? `, ${confirmation.outcome}` : '';
  const { length: count } = objective.workloads;
  const mean = count > 1 ? ` over ${count} workloads (weighted geometric mean)` : '';
  return `${best!.kind} ${speedup.toFixed(2)}× faster than the start${mean}${interval}${sanitized}`;
}

/** What is said where nothing better was found. */
const nothingBetter = ({ minimisedEnergy }: RunView): string =>
  minimisedEnergy ? 'No kernel with less energy' : 'No faster kernel';

/** The gain of the best in a run that minimises energy, with its time beside it: `measured 1.50× less energy than the start […], at 0.91× its speed […]`. */
function describeLessEnergy(
  { speedup, confirmations, objective }: RunView,
  { ratio, intervalRatio }: MinimisedEnergy,
): string {
  const confirmation = confirmations.at(-1);
  if (ratio === null || !intervalRatio || !confirmation)
    return 'Less energy was measured, but not confirmed on fresh blocks, so no gain is claimed';
  const { length: count } = objective.workloads;
  const mean = count > 1 ? ` over ${count} workloads (weighted geometric means)` : '';
  const interval = confirmation.intervalRatio ? ` ${formatRatioInterval(confirmation.intervalRatio)}` : '';
  const speed = speedup === null ? '' : `, at measured ${speedup.toFixed(2)}× its speed${interval}`;
  return `measured ${ratio.toFixed(2)}× less energy than the start ${formatRatioInterval(intervalRatio)}${speed}${mean}, ${confirmation.outcome}`;
}

/** `measured 300 µJ (e1)`. */
const describeJoules = (energy: EnergyFigure | null): Inline =>
  energy ? cited(`measured ${formatJoules(energy.joules)}`, energy.evaluationId) : '–';

/** The run's result: in a word where there is large type, and in a sentence. */
export function headline(view: RunView): { large: string; sentence: Inline } {
  const { start, best, speedup, confirmations } = view;
  if (!start)
    return { large: 'No result', sentence: 'The start has no valid time, so there is nothing to improve on.' };
  if (!best) return { large: nothingBetter(view), sentence: ['The start: ', describeTime(start), '.'] };
  if (best.evaluationId === start.evaluationId) {
    const isRefused = confirmations.some(({ outcome }) => outcome === 'refused');
    const refused = isRefused ? 'No kept change was confirmed. ' : '';
    const sentence = [`${refused}No change was kept; the start remains the best: `, describeTime(start), '.'];
    return { large: nothingBetter(view), sentence };
  }
  const { minimisedEnergy: energy } = view;
  if (energy) {
    const joules = [describeJoules(energy.start), ' → ', describeJoules(energy.best)];
    return {
      large: energy.ratio === null ? 'Not confirmed' : `${energy.ratio.toFixed(2)}×`,
      sentence: [
        describeLessEnergy(view, energy),
        ': ',
        ...joules,
        '; ',
        describeTime(start),
        ' → ',
        describeTime(best),
        '.',
      ],
    };
  }
  return {
    large: speedup === null ? 'Not confirmed' : `${speedup.toFixed(2)}×`,
    sentence: [describeSpeedup(view), ': ', describeTime(start), ' → ', describeTime(best), '.'],
  };
}

/** Old ÷ new of a kept change, of what the run minimises. */
export const formatGain = ({
  ratio,
  energyRatio,
}: Pick<BestChanges['steps'][number], 'ratio' | 'energyRatio'>): string =>
  energyRatio === undefined ? formatRatio(ratio) : `${formatRatio(energyRatio)} less energy`;

/** What was used of a budget, in its unit: tokens are counted, everything else is measured. */
export const formatAmount = (budget: LedgerLine['name'], used: number): string =>
  budget === 'tokens' ? formatFigure(used) : used.toFixed(2);

type EvaluationCounts = Pick<RunView, 'evaluationsUsed' | 'evaluationsAfterSearch' | 'budgets'>;

/**
 * How the count is composed: `12 of 30`, and `2 of them after the search`. Of runs whose limit was the search's alone
 * (those of earlier versions), what followed the search stands beside it.
 */
export function describeEvaluations({ evaluationsUsed, evaluationsAfterSearch: after, budgets }: EvaluationCounts): {
  used: number;
  figure: string;
  beyond: string;
} {
  const limit = budgets.maximumEvaluations;
  const isWithin = limit === null || evaluationsUsed <= limit;
  const used = isWithin ? evaluationsUsed : evaluationsUsed - after;
  return {
    used,
    figure: limit === null ? `${used}` : `${used} of ${formatFigure(limit)}`,
    beyond: after === 0 ? '' : `${after} ${isWithin ? 'of them ' : ''}after the search`,
  };
}

/** Columns of every table of evaluations. */
export function evaluationColumns(view: RunView): (ColumnOf<ProgressionRow> | false)[] {
  const kind = kindOf(view);
  // Rows of the first workload alone need not say so.
  const isAboutSeveral = view.progression.some((row) => row.workload !== view.workload.name);
  const isMeasured = kind === 'measured';
  const isOfEnergy = view.minimisedEnergy !== undefined;
  const title = { predicted: 'Predicted time', measured: 'Measured time' };
  return [
    figures('Iteration', ({ iteration }) => iteration, 5),
    names('Evaluation', ({ evaluationId }) => evaluationId),
    words('Change', ({ change }) => change),
    isAboutSeveral && words('Workload', ({ workload }) => workload, 2),
    words('Why', whyCell, 4),
    words('Result', ({ status }) => status, 2),
    figures(kind ? title[kind] : 'Time', ({ time }) => (time ? formatTime(time.kind, time.medianNs) : '–')),
    words('Interval', ({ time }) => (time ? formatInterval(time.kind, time.intervalNs) : '–'), 3),
    figures('× previous best', ({ ratioToPreviousBest }) => formatRatio(ratioToPreviousBest)),
    isMeasured && words('Ratio interval', ({ intervalRatio }) => formatRatioInterval(intervalRatio), 2),
    isMeasured && words('Verdict', verdictCell),
    isOfEnergy && figures('Measured energy', ({ energy }) => (energy ? formatJoules(energy.joules) : '–')),
    isOfEnergy && figures('Best’s joules ÷ its own', ({ energy }) => formatRatio(energy?.compared?.ratio ?? null)),
    isOfEnergy && words('Energy interval', ({ energy }) => formatRatioInterval(energy?.compared?.intervalRatio), 2),
    isOfEnergy && words('Energy', ({ energy }) => energy?.compared?.verdict ?? '–'),
    figures('× start', ({ ratioToStart }) => formatRatio(ratioToStart), 1),
    names('Decision', ({ decision }) => decision),
    words('Candidate', ({ candidate }) => formatCandidate(candidate), 5),
    words('Reason', ({ reason }) => reason, 4),
  ];
}
