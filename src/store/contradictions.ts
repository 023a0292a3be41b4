import { type EnergyComparison, measuredEnergy } from '../core/energy.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Comparison } from '../core/measurement.ts';
import { combineRatios } from '../stats/combine-ratios.ts';
import { readingLog } from './event-log.ts';
import {
  type ConfirmationEvent,
  type DecisionEvent,
  type EvaluationFinishedEvent,
  isAccepted,
  ofType,
  type RecordedEvent,
  type RunFinishedEvent,
} from './events.ts';
import { standingDecisions } from './standing-decisions.ts';

/** A figure of an event, and the figure that the evaluations of the same log give. */
interface Contradiction {
  readonly says: string;
  readonly gives: string;
}

/** The log as the checks need it. */
interface Log {
  readonly events: readonly RecordedEvent[];
  readonly byId: ReadonlyMap<string, Evaluation>;
}

/**
 * Recomputes ratios, verdicts, the best and its speed-up from the evaluations, and compares them with the other events.
 *
 * @throws WarpsmithError `contradictory-log` at the first difference: someone changed the log after the run.
 */
export function refuseContradictions(events: readonly RecordedEvent[], file: string): void {
  const finished = ofType(events, 'evaluation-finished');
  const log: Log = { events, byId: new Map(finished.map(({ evaluation }) => [evaluation.id, evaluation])) };
  for (const event of events) {
    const found = readingLog(() => contradictionIn(event, log));
    if (!found) continue;
    throw new WarpsmithError({
      code: 'contradictory-log',
      message: `${file} contradicts itself: ${event.type} (event ${event.sequence}) does not follow from its evaluations.`,
      file,
      path: `event ${event.sequence}`,
      received: found.says,
      expected: found.gives,
      hint: 'A log is not to be edited. Restore the file, or run the optimisation again.',
    });
  }
}

function contradictionIn(event: RecordedEvent, log: Log): Contradiction | undefined {
  switch (event.type) {
    case 'evaluation-finished':
      return ofPlace(event, log) ?? ofEvaluation(event);
    case 'decision':
      return ofDecision(event, log);
    case 'confirmation':
      return ofConfirmation(event, log);
    case 'run-finished':
      return ofEnd(event, log);
    default:
      return undefined;
  }
}

/**
 * Relative tolerance. JSON keeps every bit of a number, and the same functions compute the figures. Only the order in which
 * another version summed logarithms can differ: some units in the sixteenth digit per workload.
 */
const TOLERANCE = 1e-12;
const isNear = (left: number, right: number): boolean => Math.abs(left - right) <= TOLERANCE * Math.abs(right);

const differ = (what: string, says: number | null, gives: number): Contradiction | undefined =>
  says === null || isNear(says, gives) ? undefined : { says: `${what} ${says}`, gives: `${what} ${gives}` };

/** A resumed run may find its GPU under another index; a GPU is no virtual device, and a virtual one no other. */
function ofPlace({ evaluation: { id, device } }: EvaluationFinishedEvent, log: Log): Contradiction | undefined {
  const ofRun = startOf(log)?.device;
  if (!ofRun || (device.kind === ofRun.kind && (device.kind !== 'virtual' || device.id === ofRun.id))) return undefined;
  return { says: `${id} on ${device.id}`, gives: `the run's device, ${ofRun.id}` };
}

const startOf = ({ events }: Log) => events.find((event) => event.type === 'run-started');

function ofEvaluation({ evaluation }: EvaluationFinishedEvent): Contradiction | undefined {
  const { id, status, correctness, timing } = evaluation;
  if (status !== 'passed') return undefined;
  const worst = Math.max(correctness?.worstErrorRatio ?? 0, correctness?.rmsErrorRatio ?? 0);
  if (!(worst <= 1)) return { says: `${id} passed`, gives: `an error of ${worst} times its limit: wrong` };
  if (timing && !(timing.medianNs >= timing.vetoNs * (1 - 1e-9))) {
    return { says: `${id} passed in ${timing.medianNs} ns`, gives: `at least ${timing.vetoNs} ns: implausible` };
  }
  const summary = timing?.measurement?.summary;
  return summary && differ(`median of ${id} in ns`, timing.medianNs, summary.medianNs);
}

function ofDecision(event: DecisionEvent, log: Log): Contradiction | undefined {
  const { evaluationId, comparedWith, decision, ratio, energy, perWorkload } = event;
  const { byId } = log;
  const evaluation = byId.get(evaluationId);
  if (!evaluation) return { says: `a decision on ${evaluationId}`, gives: 'no such evaluation' };
  if (decision === 'keep' && evaluation.status !== 'passed') {
    return { says: `${evaluationId} is kept`, gives: `it is ${evaluation.status}` };
  }
  if (decision === 'keep' && comparedWith !== null && minimisesEnergy(log) && energy?.verdict !== 'less')
    return { says: `${evaluationId} is kept`, gives: `energy: ${energy?.verdict ?? 'not known'}` };
  if (ratio === null || comparedWith === null) return undefined;
  const wrongEnergy = ofEnergy(evaluation, energy, perWorkload, byId);
  if (wrongEnergy) return wrongEnergy;
  if (perWorkload) return ofParts(ratio, perWorkload, byId);
  const best = byId.get(comparedWith);
  if (!best?.timing || !evaluation.timing) return { says: `a ratio to ${comparedWith}`, gives: 'no times of both' };
  if (evaluation.timing.kind === 'predicted') {
    return differ(
      `ratio of ${comparedWith} to ${evaluationId}`,
      ratio,
      best.timing.medianNs / evaluation.timing.medianNs,
    );
  }
  return ofComparison(evaluationId, event, evaluation.comparisons?.[0]);
}

function ofParts(
  ratio: number,
  parts: NonNullable<DecisionEvent['perWorkload']>,
  byId: Log['byId'],
): Contradiction | undefined {
  for (const part of parts) {
    const evaluation = byId.get(part.evaluationId);
    if (!evaluation) return { says: `a ratio of ${part.evaluationId}`, gives: 'no such evaluation' };
    const measured = evaluation.timing?.kind === 'measured' ? evaluation.comparisons?.[0] : undefined;
    const found = measured && differ(`ratio of ${part.evaluationId}`, part.ratio, measured.ratio);
    if (found) return found;
  }
  const known = parts.flatMap((part) => (part.ratio === null ? [] : [{ ratio: part.ratio, weight: part.weight }]));
  return known.length === parts.length ? differ('ratio', ratio, meanOf(known)) : undefined;
}

/** @throws RangeError if a weight is not positive; no run logs that. */
function meanOf(ratios: readonly { readonly ratio: number; readonly weight: number }[]): number {
  if (ratios.length === 0 || !ratios.every(({ weight }) => weight > 0))
    throw new RangeError('a weight is not positive');
  return combineRatios(ratios).ratio;
}

interface Stated {
  readonly ratio: number | null;
  readonly verdict?: string | null | undefined;
  readonly intervalRatio?: readonly [low: number, high: number] | null | undefined;
}

function ofComparison(
  id: string,
  { ratio, verdict, intervalRatio }: Stated,
  comparison: Pick<Comparison | EnergyComparison, 'ratio' | 'verdict' | 'intervalRatio'> | undefined,
  what: 'time' | 'energy' = 'time',
): Contradiction | undefined {
  if (!comparison) return { says: `a ratio of ${id}`, gives: 'nothing that it was measured beside' };
  if (verdict && verdict !== comparison.verdict) {
    return { says: `verdict ${verdict}`, gives: `verdict ${comparison.verdict} of ${id}` };
  }
  const [low, high] = comparison.intervalRatio;
  const of = what === 'energy' ? 'energy ' : '';
  return (
    differ(`${of}ratio of ${id}`, ratio, comparison.ratio) ??
    differ(`${of}interval of ${id} from`, intervalRatio?.[0] ?? null, low) ??
    differ(`${of}interval of ${id} to`, intervalRatio?.[1] ?? null, high)
  );
}

const minimisesEnergy = (log: Log): boolean => startOf(log)?.minimised === 'energy';

/** Joules are divided as times are. */
function ofEnergy(
  { id, energy: measured }: Evaluation,
  energy: DecisionEvent['energy'],
  parts: DecisionEvent['perWorkload'],
  byId: Log['byId'],
): Contradiction | undefined {
  if (!energy) return undefined;
  if (!parts) return ofComparison(id, energy, measuredEnergy(measured)?.comparisons[0], 'energy');
  for (const part of parts) {
    const found = part.energy && ofEnergy(byId.get(part.evaluationId)!, part.energy, undefined, byId);
    if (found) return found;
  }
  const known = parts.flatMap((part) => (part.energy ? [{ ratio: part.energy.ratio, weight: part.weight }] : []));
  return known.length === parts.length ? differ('energy ratio', energy.ratio, meanOf(known)) : undefined;
}

const OUTCOMES: Readonly<Record<ConfirmationEvent['outcome'], true>> = {
  accepted: true,
  'accepted, unsanitized': true,
  refused: true,
};

function ofConfirmation(event: ConfirmationEvent, log: Log): Contradiction | undefined {
  const { evaluationId, ratio, verdict, energy, outcome, perWorkload } = event;
  const { byId } = log;
  const evaluation = byId.get(evaluationId);
  if (!evaluation) return { says: `a confirmation in ${evaluationId}`, gives: 'no such evaluation' };
  if (!Object.hasOwn(OUTCOMES, outcome))
    return { says: `outcome ${outcome}`, gives: Object.keys(OUTCOMES).join(' or ') };
  if (event.candidate.id !== evaluation.candidate.id) {
    return { says: `${event.candidate.id} is confirmed in ${evaluationId}`, gives: `${evaluation.candidate.id} is` };
  }
  if (outcome !== 'refused') {
    const found = ofAcceptance(evaluation, outcome, log);
    if (found) return found;
  }
  if (ratio === null) return undefined;
  if (outcome !== 'refused' && minimisesEnergy(log) && energy?.verdict !== 'less')
    return { says: outcome, gives: `energy: ${energy?.verdict ?? 'not known'}: refused` };
  if (outcome !== 'refused' && !minimisesEnergy(log) && verdict !== 'faster')
    return { says: outcome, gives: `verdict ${verdict}: refused` };
  const wrongEnergy = ofEnergy(evaluation, energy, perWorkload, byId);
  if (wrongEnergy) return wrongEnergy;
  return perWorkload
    ? ofParts(ratio, perWorkload, byId)
    : ofComparison(evaluationId, event, evaluation.comparisons?.[0]);
}

/** What is accepted was right on every workload, with a seed that the search did not use. */
function ofAcceptance(first: Evaluation, outcome: string, log: Log): Contradiction | undefined {
  const { seed } = first;
  if (seed === startOf(log)?.seed)
    return { says: `${first.id} is ${outcome}`, gives: `its seed ${seed} is the search's` };
  const refuting = [...log.byId.values()].find(
    (one) =>
      one.seed === seed && one.candidate.id === first.candidate.id && !['passed', 'device-failed'].includes(one.status),
  );
  return refuting && { says: `${first.id} is ${outcome}`, gives: `${refuting.id} is ${refuting.status}` };
}

function ofEnd({ best, speedup }: RunFinishedEvent, log: Log): Contradiction | undefined {
  if (best === null) return undefined;
  const evaluation = log.byId.get(best);
  const standing = standingDecisions(log.events).at(-1)?.evaluationId;
  const kept = standing === undefined ? undefined : log.byId.get(standing);
  if (!evaluation || evaluation.candidate.id !== kept?.candidate.id) {
    return { says: `the best is ${best}`, gives: `the last kept candidate: ${standing ?? 'none'}` };
  }
  const expected = speedupOf(evaluation, log);
  return expected === undefined ? undefined : differ('speed-up', speedup, expected);
}

/** Measured: the speed-up of the last confirmation. Predicted: the ratio of times over all workloads. */
function speedupOf(best: Evaluation, log: Log): number | undefined {
  const finished = ofType(log.events, 'evaluation-finished');
  const started = startOf(log);
  const start = finished[0]?.evaluation;
  if (!started || !start?.timing || start.candidate.id === best.candidate.id) return undefined;
  if (start.timing.kind === 'measured') {
    const last = ofType(log.events, 'confirmation').at(-1);
    return isAccepted(last, best.candidate) ? (last.ratio ?? undefined) : undefined;
  }
  const timeOf = (candidate: string, workload: string): number | undefined =>
    finished.find(
      ({ evaluation }) =>
        evaluation.candidate.id === candidate &&
        evaluation.workload.name === workload &&
        evaluation.status === 'passed',
    )?.evaluation.timing?.medianNs;
  const ratios = started.workloads.flatMap(({ name, weight }) => {
    const [before, after] = [timeOf(start.candidate.id, name), timeOf(best.candidate.id, name)];
    return before === undefined || after === undefined ? [] : [{ ratio: before / after, weight }];
  });
  return ratios.length === started.workloads.length ? meanOf(ratios) : undefined;
}
