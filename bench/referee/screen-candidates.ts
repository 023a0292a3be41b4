import type { ScreenRun, TimedEvaluation } from '../../scripts/results/referee-recordings.ts';
import { type DeviceTally, tallyBetween } from '../../src/core/device-tally.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import type { Candidate } from '../../src/core/kernel.ts';
import { PREPARED_AHEAD } from '../../src/optimizer/proposers/proposer.ts';
import { recordedMs, recordedVerdict, roundMs } from './recorded-verdict.ts';

/** What of an evaluation a recording of durations keeps. */
export const timedEvaluation = ({ candidate, timing, elapsedMs, ...verdict }: Evaluation): TimedEvaluation => ({
  kernel: candidate.kernel,
  parameters: candidate.parameters,
  ...recordedVerdict(verdict),
  ...(timing && { medianNs: timing.medianNs }),
  elapsedMs: recordedMs(elapsedMs),
});

export interface ScreenRequest {
  readonly evaluator: Evaluator;
  readonly request: Pick<EvaluationRequest, 'problem' | 'workload' | 'seed'>;
  /** Each is screened at most once. */
  readonly candidates: readonly Candidate[];
  /** What they are measured beside. */
  readonly best: Candidate;
  /** No screen is begun after this. */
  readonly limitMs: number;
  /** Of the device they are screened on. */
  readonly tally?: (() => Promise<DeviceTally>) | undefined;
}

/** Screens candidates as a run does: beside the best so far, the next ones being compiled meanwhile. */
export async function screenCandidates(options: ScreenRequest): Promise<Omit<ScreenRun, 'kernel'>> {
  const { evaluator, request, candidates, best, limitMs, tally } = options;
  const before = await tally?.();
  const startMs = performance.now();
  const evaluations: TimedEvaluation[] = [];
  for (const [index, candidate] of candidates.entries()) {
    if (performance.now() - startMs > limitMs) break;
    evaluator.prepare?.(candidates.slice(index + 1, index + 1 + PREPARED_AHEAD));
    const against = [{ name: 'best', candidate: best }];
    evaluations.push(timedEvaluation(await evaluator.evaluate({ ...request, candidate, tier: 'screen', against })));
  }
  const wallMs = performance.now() - startMs;
  const evaluationsPerMinute = roundMs((evaluations.length / wallMs) * 60_000);
  return {
    wallMs: roundMs(wallMs),
    evaluationsPerMinute,
    evaluations,
    ...(tally && before && { tally: tallyBetween(before, await tally()) }),
  };
}
