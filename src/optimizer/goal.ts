import { EXIT, WarpsmithError } from '../core/errors.ts';
import { nanoseconds } from '../diagnosis/format.ts';
import type { Goal } from '../store/events.ts';

const NS_PER_UNIT: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 };
const GOAL = /^(\d+(?:\.\d+)?)(x|×|ns|us|µs|μs|ms|s)$/;

/**
 * Reads `--goal`: a speed-up over the start (`2x`) or a time (`50us`, `1.5ms`).
 *
 * @throws WarpsmithError `bad-goal`.
 */
export function parseGoal(text: string): Goal {
  const [, digits = '', unit = ''] = GOAL.exec(text.trim()) ?? [];
  const value = Number(digits);
  if (digits === '' || !(value > 0)) {
    throw new WarpsmithError({
      code: 'bad-goal',
      message: `The goal "${text}" is neither a speed-up nor a time.`,
      path: '--goal',
      received: text,
      expected: 'a speed-up such as 2x, or a time such as 50us, 1.5ms or 800ns',
      hint: 'Leave --goal out to search until the budget is spent.',
    });
  }
  if (unit === 'x' || unit === '×') return { kind: 'speed-up', ratio: value, text };
  return { kind: 'time', ns: value * NS_PER_UNIT[unit]!, text };
}

/** The provable lower bound on the time of any kernel for a workload, with its arithmetic. */
export interface VetoBound {
  ns: number;
  /** e.g. `268,435,456 FLOP ÷ 121 TFLOP/s = 2.2 µs`. */
  arithmetic: string;
}

function refuse(goal: Goal, wantedNs: number, wantedArithmetic: string, bound: VetoBound): never {
  throw new WarpsmithError(
    {
      code: 'goal-below-bound',
      message:
        `The goal ${goal.text} cannot be reached by any kernel: ${wantedArithmetic} is below the bound of ` +
        `${nanoseconds(bound.ns)} (${bound.arithmetic}).`,
      path: '--goal',
      received: `${goal.text} = ${nanoseconds(wantedNs)}`,
      expected: `at least ${nanoseconds(bound.ns)}`,
      hint: 'Ask for a time above the bound, or leave --goal out.',
    },
    EXIT.usage,
  );
}

/**
 * Refuses a goal that is provably impossible. A time can be checked before anything runs; a speed-up needs the start's
 * time.
 *
 * @throws WarpsmithError `goal-below-bound`, with the arithmetic.
 */
export function refuseGoalBelowBound(goal: Goal, bound: VetoBound, startNs?: number): void {
  if (goal.kind === 'time' && goal.ns < bound.ns) refuse(goal, goal.ns, nanoseconds(goal.ns), bound);
  if (goal.kind === 'speed-up' && startNs !== undefined && startNs / goal.ratio < bound.ns) {
    const wantedNs = startNs / goal.ratio;
    refuse(goal, wantedNs, `the start's ${nanoseconds(startNs)} ÷ ${goal.ratio} = ${nanoseconds(wantedNs)}`, bound);
  }
}

/** Whether a time reaches the goal. */
export function goalReached(goal: Goal, bestNs: number, ratioToStart: number): boolean {
  return goal.kind === 'time' ? bestNs <= goal.ns : ratioToStart >= goal.ratio;
}
