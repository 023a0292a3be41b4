import type { RecordedVerdict } from '../../scripts/results/referee-recordings.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';

/** How it ended, without what is absent. */
export const recordedVerdict = ({ status, reason, failedCheck }: RecordedVerdict): RecordedVerdict => ({
  status,
  reason,
  failedCheck,
});

const DIGITS_AFTER_POINT = 1;

/** Wall times to a tenth of a millisecond. */
export const recordedMs = (elapsedMs: Evaluation['elapsedMs']): Evaluation['elapsedMs'] => ({
  compile: roundMs(elapsedMs.compile),
  verify: roundMs(elapsedMs.verify),
  time: roundMs(elapsedMs.time),
  total: roundMs(elapsedMs.total),
});

export const roundMs = (ms: number): number => Number(ms.toFixed(DIGITS_AFTER_POINT));
