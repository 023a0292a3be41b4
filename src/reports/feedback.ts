import { z } from 'zod';
import { describeSizes } from '../core/compared-sizes.ts';
import type { WarpsmithError } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Timing } from '../core/timing.ts';
import { troubleLines } from './documents/evaluation.ts';
import {
  describeBounds,
  describeDiagnostic,
  describeTiming,
  formatCount,
  formatFigure,
  formatParameters,
  formatRatio,
  formatSeconds,
} from './format.ts';
import { oneWaySentences } from './sections/conditions.ts';
import { describeEvidence } from './sections/findings.ts';
import { counterChanges } from './view/counter-changes.ts';

/*
 * What an author is told of a verdict: enough to decide on the next change, and short enough to be read every time.
 */

const finding = z.strictObject({
  id: z.string(),
  estimatedGain: z.number().describe('Old time ÷ new time if it vanished. An estimate.'),
  evidence: z.string(),
  arithmetic: z.string(),
  advice: z.string(),
});

export const feedbackSchema = z.strictObject({
  status: z.string().describe('`passed`, or why not.'),
  why: z.string().optional(),
  where: z
    .array(z.string())
    .optional()
    .describe('Which check found it, where it was stopped, who wrote the first wrong element.'),
  compiler: z.array(z.string()).optional(),
  time: z.string().optional(),
  ratioToParent: z.number().nullable().describe('Parent’s time ÷ its time.'),
  ratioToStart: z.number().nullable().describe('Start’s time ÷ its time.'),
  verdict: z.string().optional().describe('Measured times only: than the parent.'),
  prediction: z.string().optional().describe('What the author hoped, and what came of it.'),
  bounds: z.array(z.string()).describe('What binds, and how far away the bound is.'),
  findings: z.array(finding),
  counters: z.array(z.string()).describe('What changed against the parent.'),
  accuracy: z.string().optional().describe('Of what passed: how near it came to a tolerance, if more than half.'),
  notChecked: z.array(z.string()),
  cost: z.string(),
});

/** A verdict as an author gets it. */
export type Feedback = z.infer<typeof feedbackSchema>;

export interface FeedbackParts {
  readonly evaluation: Evaluation;
  /** What it was made from, if that was judged. */
  readonly parent?: Evaluation | undefined;
  readonly ratioToParent?: number | null;
  readonly ratioToStart?: number | null;
  /** Parent's time ÷ its time, as the author hoped. */
  readonly predictedRatio?: number | null;
}

const MOST_FINDINGS = 3;
const MOST_DIAGNOSTICS = 6;

/** The feedback on an evaluation. */
export function feedbackOf(parts: FeedbackParts): Feedback {
  const { evaluation, ratioToParent = null, ratioToStart = null } = parts;
  const { status, reason, timing, findings, error } = evaluation;
  const isTimed = status === 'passed' && timing !== undefined;
  const where = troubleLines(evaluation);
  const counters = isTimed && parts.parent ? counterChanges(parts.parent, evaluation) : [];
  return {
    status,
    why: present([
      reason,
      error?.path && `at ${error.path} of kernel.json`,
      error?.expected && `expected ${error.expected}`,
    ]),
    where: where.length > 0 ? where : undefined,
    compiler: diagnosticsOf(evaluation),
    time: isTimed ? describeTiming(timing) : undefined,
    ratioToParent,
    ratioToStart,
    verdict: evaluation.comparisons?.map(({ baseline, verdict }) => `${verdict} than ${baseline}`).join(', '),
    prediction: predictionOf(parts, counters),
    bounds: isTimed ? boundsOf(timing) : [],
    findings: findings.slice(0, MOST_FINDINGS).map((one) => ({
      id: one.id,
      estimatedGain: one.estimatedSpeedup,
      evidence: describeEvidence(one),
      arithmetic: one.arithmetic,
      advice: one.advice,
    })),
    counters,
    accuracy: accuracyOf(evaluation),
    notChecked: notCheckedOf(evaluation),
    cost: costOf(evaluation),
  };
}

function present(parts: readonly (string | undefined | false)[]): string | undefined {
  const given = parts.filter(Boolean);
  return given.length > 0 ? given.join('; ') : undefined;
}

const SEVERITIES = ['error', 'warning', 'note'] as const;

/** Errors first: the others seldom matter beside them. */
function diagnosticsOf({ diagnostics = [], status }: Evaluation): string[] | undefined {
  const shown = status === 'passed' ? diagnostics.filter(({ severity }) => severity !== 'warning') : diagnostics;
  const sorted = SEVERITIES.flatMap((wanted) => shown.filter(({ severity }) => severity === wanted));
  if (sorted.length === 0) return undefined;
  return sorted.slice(0, MOST_DIAGNOSTICS).map(describeDiagnostic);
}

function boundsOf(timing: Timing): string[] {
  const [binding, next] = timing.bounds ?? [];
  return [
    `${describeBounds(timing)}: ${formatFigure((100 * timing.attainableNs) / timing.medianNs)} % reached`,
    ...(binding ? [`${binding.resource}: ${binding.arithmetic}`] : []),
    ...(next ? [`next: ${next.resource}: ${next.arithmetic}`] : []),
  ];
}

/** A prediction is right if its logarithm is off by at most a quarter of what was hoped, or by what no screen tells apart. */
const RIGHT = { share: 1 / 4, least: 0.02 } as const;

/** `hoped 3.00×, got 2.25×: short by 1.33×`. */
export function describePrediction(hoped: number, got: number): string {
  const off = got / hoped;
  const allowed = Math.max(RIGHT.least, RIGHT.share * Math.abs(Math.log(hoped)));
  const missed = off > 1 ? `better by ${formatRatio(off)}` : `short by ${formatRatio(1 / off)}`;
  const judged = Math.abs(Math.log(off)) <= allowed ? 'right' : missed;
  return `hoped ${formatRatio(hoped)}, got ${formatRatio(got)}: ${judged}`;
}

function predictionOf(
  { predictedRatio, ratioToParent }: FeedbackParts,
  [mostChanged]: readonly string[],
): string | undefined {
  if (predictedRatio === null || predictedRatio === undefined) return undefined;
  if (ratioToParent === null || ratioToParent === undefined)
    return `hoped ${formatRatio(predictedRatio)}; there is no ratio to hold it against`;
  const moved = mostChanged === undefined ? 'no counter moved' : `most changed: ${mostChanged}`;
  return `${describePrediction(predictedRatio, ratioToParent)}; ${moved}`;
}

/** Share of a tolerance above which other inputs may exceed it. */
const NEAR = 0.5;

function accuracyOf({ status, correctness }: Evaluation): string | undefined {
  const { nearest } = correctness ?? {};
  if (status !== 'passed' || !nearest || !(nearest.error > NEAR * nearest.tolerance)) return undefined;
  const place = `${nearest.output}[${nearest.index.join(', ')}]`;
  return `${place} errs by ${formatFigure((100 * nearest.error) / nearest.tolerance)} % of its tolerance; on other inputs it may be too much`;
}

function notCheckedOf({ coverage, timing, status }: Evaluation): string[] {
  const kind = timing?.kind === 'predicted' && status === 'passed' ? ['predicted by a model, not measured'] : [];
  if (!coverage) return ['verification did not begin', ...kind];
  const { timedShapeOnly, excludedShapes, fixedDimensions, leftOut, conditions, compared, reference } = coverage;
  return [
    ...(reference === 'original' ? ['whether the original is right: results are the same as its, no more'] : []),
    ...(timedShapeOnly ? ['no other shape than the timed one'] : []),
    ...(excludedShapes.length > 0
      ? [`${formatCount(excludedShapes.length, 'check shape')} that its limits turn away`]
      : []),
    ...(fixedDimensions.length > 0 && !timedShapeOnly ? [`other values of ${fixedDimensions.join(', ')}`] : []),
    ...leftOut.slice(0, 3).map(({ check, reason }) => `${check}: ${reason}`),
    ...(status === 'passed' && compared ? [`sizes beyond those compared: ${describeSizes(compared)}`] : []),
    ...(status === 'passed' ? oneWaySentences(conditions, { others: '' }) : []),
    ...kind,
  ];
}

function costOf({ elapsedMs, candidate }: Evaluation): string {
  const { compile, verify, time, total } = elapsedMs;
  const parameters = formatParameters(candidate.parameters);
  return `${formatSeconds(total)} of wall time (compile ${formatSeconds(compile)}, verify ${formatSeconds(verify)}, time ${formatSeconds(time)})${parameters && `, with ${parameters}`}`;
}

/** Characters of about 1,200 tokens of this kind of text. */
export const LONGEST_FEEDBACK = 3900;

/** The feedback in lines. What does not fit is cut from its least important part, and said to be. */
export function feedbackText(feedback: Feedback): string {
  const { status, why, time, ratioToParent, ratioToStart, prediction, cost } = feedback;
  const ratio = (value: number | null, of: string): string | undefined =>
    value === null ? undefined : `${value.toFixed(2)}× the speed of ${of}`;
  const lines = [
    `${status}${why ? `: ${why}` : ''}`,
    present([time, ratio(ratioToParent, 'its parent'), ratio(ratioToStart, 'the start'), feedback.verdict]),
    ...listed('where', feedback.where),
    ...listed('compiler', feedback.compiler),
    prediction && `prediction: ${prediction}`,
    ...listed('bound', feedback.bounds),
    ...feedback.findings.flatMap((one) => [
      `finding ${one.id}, estimated gain ${one.estimatedGain.toFixed(2)}×: ${one.evidence}`,
      `  ${one.arithmetic}; ${one.advice}`,
    ]),
    ...listed('changed', feedback.counters),
    feedback.accuracy && `accuracy: ${feedback.accuracy}`,
    ...listed('not checked', feedback.notChecked),
    `cost: ${cost}`,
  ];
  return within(
    lines.filter((line) => line !== undefined),
    LONGEST_FEEDBACK,
  );
}

const listed = (title: string, lines: readonly string[] = []): string[] => lines.map((line) => `${title}: ${line}`);

const LONGEST_LINE = 700;

function within(lines: readonly string[], most: number): string {
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    const shown = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
    length += shown.length + 1;
    if (length > most) return [...kept, '… (more: `diagnose`)'].join('\n');
    kept.push(shown);
  }
  return kept.join('\n');
}

/** An error as an author is told of it. */
export function errorText({ details }: WarpsmithError): string {
  const { code, message, path, received, expected, hint } = details;
  return [
    `[${code}] ${message}`,
    path && `at: ${path}`,
    received && `received: ${received}`,
    expected && `expected: ${expected}`,
    hint && `next: ${hint}`,
  ]
    .filter(Boolean)
    .join('\n');
}
