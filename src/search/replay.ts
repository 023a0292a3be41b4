import type { Outcome, Strategy } from './strategy.ts';

/**
 * Lets a strategy search a space in which every answer is known. Returns the best time after each evaluation, Infinity
 * while nothing had a time; failed ones count as evaluations. Ends early where the space does, or at `enoughNs`.
 */
export function replayStrategy(
  strategy: Strategy,
  outcomeOf: (index: number) => Outcome,
  limits: { evaluations: number; enoughNs: number },
): number[] {
  const bestNs: number[] = [];
  let best = Number.POSITIVE_INFINITY;
  while (bestNs.length < limits.evaluations && best > limits.enoughNs) {
    const index = strategy.ask();
    if (index === undefined) break;
    const outcome = outcomeOf(index);
    strategy.tell(index, outcome);
    if (outcome.kind === 'timed') best = Math.min(best, outcome.timeNs);
    bestNs.push(best);
  }
  return bestNs;
}
