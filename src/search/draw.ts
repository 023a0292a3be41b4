import { type RandomSource, randomSource } from '../stats/random.ts';

const WORDS = 2 ** 32;

/** A whole number from 0 to `bound` − 1; `bound` is small against 2³². */
export const integerBelow = (random: RandomSource, bound: number): number => Math.floor(unit(random) * bound);

/** In [0, 1). */
export const unit = (random: RandomSource): number => random.next() / WORDS;

/**
 * A generator for each step of a strategy. What a step draws follows from the seed and the step's number alone, so that
 * a strategy that was told an old run's answers draws what the run would have drawn next.
 */
export function stepSource(seed: number): (step: number) => RandomSource {
  const word = randomSource(seed).next();
  return (step) => randomSource(word + WORDS * step);
}
