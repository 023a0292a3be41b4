import { WarpsmithError } from '../core/errors.ts';
import type { Run } from './run.ts';

const codeOf = (error: unknown): string | undefined =>
  error instanceof WarpsmithError ? error.details.code : undefined;

/** An error that leaves the log as it is, because the log already says what the run did. */
export const isHistoryDiffering = (error: unknown): boolean => codeOf(error) === 'history-differs';

/** Logs that the run ended in an error. The caller rethrows it. */
export function announceFailure(run: Run, error: unknown): void {
  run.options.emit({
    type: 'run-finished',
    stopReason: codeOf(error) === 'goal-below-bound' ? 'goal-refused' : 'failed',
    detail: error instanceof Error ? error.message : String(error),
    best: run.best?.evaluation.id ?? null,
    speedup: null,
  });
}
