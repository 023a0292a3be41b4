import { EXIT } from '../core/errors.ts';
import { type EvaluationStatus, isDevicesFault } from '../core/status.ts';
import type { StopReason } from '../store/events.ts';

/** Exit code of a lone evaluation. */
export function exitCodeOfStatus(status: EvaluationStatus): number {
  if (status === 'passed') return EXIT.ok;
  if (status === 'unverified') return EXIT.unverified;
  return isDevicesFault(status) ? EXIT.deviceOrToolMissing : EXIT.judgedFailed;
}

const BY_STOP_REASON: Partial<Record<StopReason, number>> = {
  interrupted: EXIT.interrupted,
  'start-failed': EXIT.judgedFailed,
  'device-failed': EXIT.deviceOrToolMissing,
};

/** Exit code of a run: 0 if it left a best and was not interrupted. */
export const exitCodeOfStop = (reason: StopReason): number => BY_STOP_REASON[reason] ?? EXIT.ok;

/** Exit code of several runs: the largest of theirs, which is the worst. */
export const exitCodeOfStops = (reasons: readonly StopReason[]): number => Math.max(...reasons.map(exitCodeOfStop));
