import type { RandomSource } from '../stats/random.ts';
import { stepSource } from './draw.ts';
import { latinHypercube } from './latin-hypercube.ts';
import type { Outcome, Strategy, StrategyOptions } from './strategy.ts';
import { type Unvisited, unvisitedOf } from './unvisited.ts';

interface Course {
  /** Configurations of the Latin hypercube that comes first. */
  readonly startCount: number;
  /**
   * What to ask for after them; undefined: any unvisited configuration.
   * @param pending those that were asked for and not told yet.
   */
  choose(unvisited: Unvisited, random: RandomSource, pending: readonly number[]): number | undefined;
  learn(index: number, outcome: Outcome): void;
}

/** A strategy that begins with a Latin hypercube and never asks for a configuration twice. */
export function fromHypercube({ space, seed }: StrategyOptions, { startCount, choose, learn }: Course): Strategy {
  const unvisited = unvisitedOf(space.size);
  const sourceOf = stepSource(seed);
  const start = latinHypercube(space, startCount, sourceOf(0)).reverse();
  const pending = new Set<number>();
  const next = (random: RandomSource): number | undefined => {
    while (start.length > 0) {
      const index = start.pop()!;
      if (unvisited.has(index)) return index;
    }
    return choose(unvisited, random, [...pending]) ?? unvisited.draw(random);
  };
  return {
    ask() {
      const index = next(sourceOf(1 + unvisited.taken));
      if (index === undefined) return undefined;
      unvisited.take(index);
      pending.add(index);
      return index;
    },
    tell(index, outcome) {
      unvisited.take(index);
      pending.delete(index);
      learn(index, outcome);
    },
  };
}
