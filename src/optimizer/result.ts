import type { Evaluation } from '../core/evaluation.ts';
import type { ConfirmationEvent, StopReason } from '../store/events.ts';
import { isConfirmed, lacksEvaluations } from './confirm.ts';
import { describeRatio, isTimed } from './decision.ts';
import { objectiveRatio } from './objective.ts';
import { type Best, emit, type Run } from './run.ts';

export interface RunResult {
  stopReason: StopReason;
  detail: string;
  /** The start's evaluation on the first workload, with any status; absent if interrupted before it ended. */
  start?: Evaluation;
  best?: Best;
  /** Start's time ÷ best's time, both of one kind, over all workloads. Of a measured run, the confirmed ratio. */
  speedup?: number;
  /** How the winner was confirmed, if there is one. */
  confirmation?: ConfirmationEvent;
  evaluationsUsed: number;
}

/** Start's time ÷ best's time; for measured times only if confirmed. */
function speedupOf(run: Run): number | undefined {
  const { start, best, bests, options } = run;
  if (!start || !isTimed(start) || !best) return undefined;
  if (best.evaluation.id === start.id) return 1;
  if (start.timing.kind === 'predicted') return objectiveRatio(options.workloads, bests[0]!, best);
  return isConfirmed(run) ? (run.confirmation?.ratio ?? undefined) : undefined;
}

export function resultOf(run: Run): RunResult {
  const { start, best, confirmation } = run;
  const stop = run.stop!;
  const speedup = speedupOf(run);
  return {
    stopReason: stop.reason,
    detail: stop.detail,
    evaluationsUsed: run.budget.evaluationsUsed,
    start,
    best,
    speedup,
    confirmation,
  };
}

function describeBest(run: Run, { start, best, speedup }: RunResult): string {
  const workloadCount = run.options.workloads.length;
  if (!best) return '';
  const { id, timing } = best.evaluation;
  if (id === start?.id) return '; no change was kept';
  if (speedup === undefined) {
    const why = lacksEvaluations(run) ? ': the limit leaves no evaluation for it' : '';
    return `; best ${id}, not confirmed${why}`;
  }
  const over = workloadCount > 1 ? ` over ${workloadCount} workloads` : '';
  const energy = run.confirmation?.energy;
  const less = energy ? `measured ${energy.ratio.toFixed(2)}× less energy, ` : '';
  return `; best ${id}, ${less}${describeRatio(timing.kind, speedup)} than the start${over}`;
}

/** Logs how the run ended. */
export function announceEnd(run: Run, result: RunResult): void {
  emit(run, {
    type: 'run-finished',
    stopReason: result.stopReason,
    detail: `${result.detail}${describeBest(run, result)}`,
    best: result.best?.evaluation.id ?? null,
    speedup: result.speedup ?? null,
  });
}
