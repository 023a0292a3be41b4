import { WarpsmithError } from '../core/errors.ts';
import type { Run } from './run.ts';

const codeOf = (error: unknown): string | undefined =>
  error instanceof WarpsmithError ? error.details.code : undefined;

/** Its log is left as it is: it says what the run did, whatever stands in the way of going on. */
export const isHistoryDiffering = (error: unknown): boolean => codeOf(error) === 'history-differs';

/** Logs that the run ended in an error, which goes on to the caller. */
export function announceFailure(run: Run, error: unknown): void {
  run.options.emit({
    type: 'run-finished',
    stopReason: codeOf(error) === 'goal-below-bound' ? 'goal-refused' : 'failed',
    detail: error instanceof Error ? error.message : String(error),
    best: run.best?.evaluation.id ?? null,
    speedup: null,
  });
}
