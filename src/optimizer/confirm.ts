import type { Evaluation } from '../core/evaluation.ts';
import type { ConfirmationEvent } from '../store/events.ts';
import { describeComparison, isTimed } from './decision.ts';
import { type Best, evaluateOnce, type Run, reference } from './run.ts';

/** Blocks of a confirmation, fixed beforehand: the best of many looks better than it is where it was chosen. */
export const CONFIRMATION_BLOCKS = 20;

/**
 * Measures the winner of a measured run against the start on fresh blocks with fresh inputs, and has the sanitizer look
 * at it. A refused winner gives way to the best before it, down to the start, which needs no confirmation.
 */
export async function confirmBest(run: Run): Promise<void> {
  const start = run.bests[0];
  if (start?.evaluation.timing.kind !== 'measured') return;
  while (run.bests.length > 1 && !isConfirmed(run) && !run.options.signal?.aborted) {
    const winner = run.bests.at(-1)!;
    const evaluation = await measureAgain(run, winner, start);
    if (!evaluation) return;
    run.confirmation = confirmationOf(winner, evaluation, run.options.requireSanitizer ?? false);
    run.options.emit(run.confirmation);
    if (run.confirmation.outcome !== 'refused') return;
    run.bests.pop();
    run.best = run.bests.at(-1)!;
    run.options.onBest?.(run.best);
  }
}

/** Whether the best is one that a confirmation has accepted. */
export const isConfirmed = ({ best, confirmation }: Run): boolean =>
  confirmation !== undefined && confirmation.outcome !== 'refused' && confirmation.candidate.id === best?.candidate.id;

/** A failure of the device is not held against the winner: it gets a second chance. */
async function measureAgain(run: Run, { candidate }: Best, start: Best): Promise<Evaluation | undefined> {
  const measure = () => evaluateOnce(run, candidate, measuringFor(start), run.options.seed + 1);
  const evaluation = await measure();
  return evaluation?.status === 'device-failed' ? measure() : evaluation;
}

const measuringFor = (start: Best) =>
  ({
    tier: 'accept',
    blocks: CONFIRMATION_BLOCKS,
    against: [{ name: 'start', candidate: start.candidate }],
    sanitize: true,
  }) as const;

function confirmationOf({ candidate }: Best, evaluation: Evaluation, requireSanitizer: boolean): ConfirmationEvent {
  const comparison = isTimed(evaluation) ? evaluation.comparisons?.[0] : undefined;
  const sanitizer = evaluation.sanitizer?.outcome ?? null;
  return {
    type: 'confirmation',
    evaluationId: evaluation.id,
    candidate: reference(candidate),
    ratio: comparison?.ratio ?? null,
    medianNs: isTimed(evaluation) ? evaluation.timing.medianNs : null,
    verdict: comparison?.verdict ?? null,
    intervalRatio: comparison?.intervalRatio ?? null,
    sanitizer,
    ...judge(evaluation, sanitizer, requireSanitizer),
  };
}

type Judgement = Pick<ConfirmationEvent, 'outcome' | 'reason'>;

function judge(
  evaluation: Evaluation,
  sanitizer: ConfirmationEvent['sanitizer'],
  requireSanitizer: boolean,
): Judgement {
  const comparison = evaluation.comparisons?.[0];
  if (!isTimed(evaluation)) {
    return { outcome: 'refused', reason: `${evaluation.status}: ${evaluation.reason ?? 'it has no time'}` };
  }
  if (!comparison) {
    const why = evaluation.missingBaselines?.[0]?.reason ?? 'no reason given';
    return { outcome: 'refused', reason: `the start could not be measured beside it: ${why}` };
  }
  const measured = `${describeComparison(comparison)} the speed of the start`;
  if (comparison.verdict !== 'faster') return { outcome: 'refused', reason: `${comparison.verdict}: ${measured}` };
  if (sanitizer === 'errors')
    return { outcome: 'refused', reason: `the sanitizer found errors: ${sanitizerText(evaluation)}` };
  if (sanitizer === 'clean') return { outcome: 'accepted', reason: measured };
  const why = sanitizerText(evaluation);
  return requireSanitizer
    ? { outcome: 'refused', reason: `the sanitizer is required and has not cleared it: ${why}` }
    : { outcome: 'accepted, unsanitized', reason: `${measured}; ${why}` };
}

/** What kept the sanitizer from calling a kernel clean. */
const sanitizerText = ({ sanitizer }: Evaluation): string =>
  sanitizer?.tools
    .filter(({ outcome }) => outcome !== 'clean')
    .map(({ tool, outcome, detail }) => `${tool} ${outcome}: ${detail}`)
    .join('; ') ?? 'no sanitizer was run';
