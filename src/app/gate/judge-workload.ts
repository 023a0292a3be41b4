import type { Evaluation } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { Comparison } from '../../core/measurement.ts';
import { takesWorkload, whyNotTaken } from '../../core/plan/takes-workload.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import { isDevicesFault } from '../../core/status.ts';
import { comparedSide } from '../../reports/documents/compare.ts';
import type { GatedWorkload, GateOutcome, GatePlace } from '../../reports/documents/gate.ts';
import { counterChanges } from '../../reports/view/counter-changes.ts';
import { requestOf } from '../same-blocks.ts';
import type { Session, Surroundings } from '../session.ts';

/** One kernel on one workload, after the change and, where there is one, before it. */
export interface GatePair {
  readonly options: Surroundings & {
    readonly checks: 'usual' | 'thorough';
    /** Percent. */
    readonly maximumSlowdown: number;
  };
  readonly session: Pick<Session, 'evaluator'> & { readonly device: Pick<Session['device'], 'identity'> };
  readonly seed: number;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly before: Candidate | undefined;
  readonly after: Candidate;
}

export interface JudgedWorkload {
  readonly row: GatedWorkload;
  /** Of the kernel after the change, where it was judged. */
  readonly evaluation?: Evaluation;
}

/** Name of the kernel before the change among the contenders of the shared blocks. */
const BEFORE = 'before';

/**
 * Judges a kernel on a workload, beside what it was before. On a GPU both are measured in the same blocks; on a virtual device their
 * predictions are compared.
 */
export async function judgeWorkload(pair: GatePair): Promise<JudgedWorkload> {
  const { workload, after, options } = pair;
  const failed = whyNotTaken(after, workload.dimensions);
  const before = pair.before && takesWorkload(pair.before, workload.dimensions) ? pair.before : undefined;
  if (failed !== undefined) return { row: notTaken(workload, failed, before !== undefined) };
  const measures = pair.session.device.identity.kind === 'cuda';
  const old = before && (await judgeBefore(pair, before, measures));
  const beside = measures && old?.status === 'passed' ? before : undefined;
  options.onStep?.(`${after.kernel.file.name}, ${workload.name}: judging it${beside ? ' beside what it was' : ''}`);
  const thorough = options.checks === 'thorough';
  const evaluation = await pair.session.evaluator.evaluate({
    ...requestOf(pair, after, 'after'),
    thorough,
    large: thorough,
    tier: 'accept',
    against: beside && [{ name: BEFORE, candidate: beside }],
  });
  const row = rowOf(pair, old, evaluation);
  const isSlower = row.outcome === 'slower' && !measures;
  return { row: isSlower ? await onlyBesideRight(pair, before!, row) : row, evaluation };
}

/** A virtual device needs no verification to predict a time; a GPU measures nothing that is not verified. */
function judgeBefore(pair: GatePair, before: Candidate, measures: boolean): Promise<Evaluation> {
  pair.options.onStep?.(`${before.kernel.file.name}, ${pair.workload.name}: looking at what it was before`);
  return pair.session.evaluator.evaluate({ ...requestOf(pair, before, BEFORE), quick: !measures });
}

/** What was wrong before may have been quick for that: being slower counts beside a right kernel only. */
async function onlyBesideRight(pair: GatePair, before: Candidate, row: GatedWorkload): Promise<GatedWorkload> {
  pair.options.onStep?.(`${before.kernel.file.name}, ${pair.workload.name}: verifying what it was before`);
  const { status, reason } = await pair.session.evaluator.evaluate(requestOf(pair, before, BEFORE));
  if (status === 'passed') return row;
  const why = `slower, but the base is ${status}: ${reason ?? 'no reason given'}`;
  return { ...row, before: { status, reason }, ratio: null, outcome: 'passes', why };
}

const EMPTY = { before: null, after: null, ratio: null, changes: [], findings: [], findingsBefore: [], places: [] };

const notTaken = ({ name, dimensions }: Workload, failed: string, didBefore: boolean): GatedWorkload => ({
  ...EMPTY,
  workload: name,
  dimensions,
  outcome: didBefore ? 'wrong' : 'not-taken',
  why: didBefore ? `it took this workload before, and now needs ${failed}` : `it needs ${failed}`,
});

function rowOf(pair: GatePair, old: Evaluation | undefined, evaluation: Evaluation): GatedWorkload {
  const { workload, options } = pair;
  const beside = evaluation.comparisons?.find(({ baseline }) => baseline === BEFORE);
  const ratio = ratioOf(old, evaluation, beside);
  const failed = failureOf(evaluation);
  const slower = failed ?? slowerThan(options.maximumSlowdown, ratio, beside);
  return {
    ...EMPTY,
    workload: workload.name,
    dimensions: workload.dimensions,
    before: old ? comparedSide(old) : null,
    after: comparedSide(evaluation),
    ratio,
    verdict: beside?.verdict,
    intervalRatio: beside?.intervalRatio,
    blockCount: beside?.blockCount,
    outcome: slower?.outcome ?? 'passes',
    why: slower?.why ?? whyNotCompared(old, evaluation),
    changes: old ? counterChanges(old, evaluation) : [],
    findings: evaluation.findings,
    findingsBefore: old?.findings.map(({ id }) => id) ?? [],
    places: placesOf(pair.after, evaluation),
  };
}

/** Measured apart, times say too little: on a GPU only those of shared blocks are divided by each other. */
function ratioOf(old: Evaluation | undefined, { status, timing }: Evaluation, beside?: Comparison): number | null {
  if (status !== 'passed') return null;
  if (beside) return beside.ratio;
  const [before, after] = [old?.timing, timing];
  return before?.kind === 'predicted' && after?.kind === 'predicted' ? before.medianNs / after.medianNs : null;
}

function failureOf(evaluation: Evaluation): { outcome: GateOutcome; why: string } | undefined {
  const { status, reason = 'no reason given' } = evaluation;
  if (status === 'passed') return undefined;
  return { outcome: isDevicesFault(status) ? 'not-judged' : 'wrong', why: `${status}: ${reason}` };
}

/** The allowed share is the same everywhere; a measurement must also be sure that there is a difference. */
function slowerThan(
  maximum: number,
  ratio: number | null,
  beside: Comparison | undefined,
): { outcome: GateOutcome; why: string } | undefined {
  if (ratio === null || (beside && beside.verdict !== 'slower')) return undefined;
  const percent = 100 * (1 / ratio - 1);
  // Written as "passes if": what is not a number does not.
  if (percent <= maximum) return undefined;
  const kind = beside ? 'measured' : 'predicted';
  return { outcome: 'slower', why: `${kind} ${percent.toFixed(1)} % slower; ${maximum} % are allowed` };
}

function whyNotCompared(old: Evaluation | undefined, { missingBaselines = [] }: Evaluation): string | undefined {
  const missing = missingBaselines.find(({ name }) => name === BEFORE);
  if (missing) return `not compared: ${missing.reason}`;
  if (!old || old.timing) return undefined;
  return `not compared: the base is ${old.status}: ${old.reason ?? 'no reason given'}`;
}

/** Where the kernel's own files are at fault. */
function placesOf({ kernel }: Candidate, { fault, writer, diagnostics = [], status, reason }: Evaluation): GatePlace[] {
  if (status === 'passed') return [];
  const message = `${status}: ${reason ?? 'no reason given'}`;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const places = [
    ...errors.map(({ location, message: said }) => location && { ...location, message: said }),
    ...[fault?.source, writer?.last?.source].map((source) => source && { ...source, message }),
  ];
  return places.filter((place) => place !== undefined).filter(({ file }) => Object.hasOwn(kernel.sources, file));
}
