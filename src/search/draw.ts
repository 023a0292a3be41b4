import { type RandomSource, randomSource } from '../stats/random.ts';

const WORDS = 2 ** 32;

/** A whole number from 0 to `bound` − 1; `bound` is small against 2³². */
export const integerBelow = (random: RandomSource, bound: number): number => Math.floor(unit(random) * bound);

/** In [0, 1). */
export const unit = (random: RandomSource): number => random.next() / WORDS;

/**
 * A random generator for each step of a strategy. A step's draws depend only on the seed and its number, so a strategy that
 * is told the answers of an old run continues with the same draws.
 */
export function stepSource(seed: number): (step: number) => RandomSource {
  const word = randomSource(seed).next();
  return (step) => randomSource(word + WORDS * step);
}
