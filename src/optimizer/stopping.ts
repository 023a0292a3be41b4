import type { Timing } from '../core/timing.ts';
import type { Goal, StopReason } from '../store/events.ts';
import { goalReached } from './goal.ts';

/** A run stops if its best time is within this factor of the attainable bound, because the model is no more accurate. */
const NEAR_ATTAINABLE_RATIO = 1.1;

export interface Stop {
  reason: StopReason;
  detail: string;
}

/** The best's time and bound; with several workloads, their weighted geometric means. */
export type BestTime = Pick<Timing, 'kind' | 'medianNs' | 'attainableNs'>;

/**
 * The reason to stop after a new best time, if any; the goal comes before the bound.
 *
 * @param ratioToStart start's time ÷ best's time.
 */
export function reasonToStop(best: BestTime, ratioToStart: number, goal: Goal | undefined): Stop | undefined {
  const reached = reasonToStopAtGoal(goal, best.medianNs, ratioToStart);
  if (reached) return reached;
  const ratio = best.medianNs / best.attainableNs;
  if (best.attainableNs > 0 && ratio <= NEAR_ATTAINABLE_RATIO) {
    const detail = `${best.kind} time is ${ratio.toFixed(2)} times the attainable bound; the search stops below ${NEAR_ATTAINABLE_RATIO}`;
    return { reason: 'near-attainable', detail };
  }
  return undefined;
}

/** @param gain start ÷ best, of what the run minimises. */
export const reasonToStopAtGoal = (goal: Goal | undefined, bestNs: number, gain: number): Stop | undefined =>
  goal && goalReached(goal, bestNs, gain)
    ? { reason: 'goal-reached', detail: `the goal ${goal.text} is reached` }
    : undefined;

/** Whether so many evaluations without a new best are more than anybody waits for. */
export function reasonToGiveUp(withoutGain: number, patience: number | undefined): Stop | undefined {
  if (patience === undefined || !(withoutGain >= patience)) return undefined;
  const row = withoutGain === 1 ? '1 evaluation' : `${withoutGain} evaluations in a row`;
  return { reason: 'no-gain', detail: `${row} gave no better kernel; --patience is ${patience}` };
}
