import { stepSource } from './draw.ts';
import type { Strategy, StrategyOptions } from './strategy.ts';
import { askedFor, unvisitedOf } from './unvisited.ts';

/** Any configuration that is left, each as likely. */
export function random({ space, seed }: StrategyOptions): Strategy {
  const unvisited = unvisitedOf(space.size);
  const sourceOf = stepSource(seed);
  const ask = (): number | undefined => {
    const index = unvisited.draw(sourceOf(unvisited.taken));
    if (index !== undefined) unvisited.take(index);
    return index;
  };
  return {
    ask,
    foresee: (count) => unvisited.trying(() => askedFor(count, ask)),
    tell: (index) => unvisited.take(index),
  };
}
