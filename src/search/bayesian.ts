import type { RandomSource } from '../stats/random.ts';
import { stepSource } from './draw.ts';
import { createFeasibility } from './feasibility.ts';
import { distance } from './geometry.ts';
import { priorMeanOf } from './prior.ts';
import type { SearchSpace, Strategy, StrategyOptions } from './strategy.ts';
import { createSurrogate, type Prediction } from './surrogate.ts';
import { askedFor, type Unvisited, unvisitedOf } from './unvisited.ts';

/** Configurations far from each other, told before the surrogate is believed; of these, how many must have a time. */
const START_COUNT = 15;
const FEWEST_TIMED = 4;
/** Number of initial configurations, each as far as possible from all earlier ones. */
const START_RIVALS = 30;
/**
 * Degrees of optimism in standard deviations below the mean, used in turn: the first refines a known good region, the
 * second balances, the third explores where least is known, so that a wide plateau can't hold the search.
 */
const OPTIMISM = [0.5, 1.5, 4] as const;
/** Failures in a row, before any time, after which a prior's fastest are not asked for. */
const MOST_FAILED = 3;
/** Probability of a time where a prior that holds otherwise has none. */
const FAILED_BEFORE = 0.3;
/** Apart from the numbers of the steps that ask, and from each other. */
const TELLING = 2 ** 20;
const LABELLING = 2 ** 20 + 2 ** 19;

/**
 * Bayesian optimisation. A Gaussian process predicts times of the remaining configurations. The strategy asks for the one
 * with the best optimistic time, weighted by the probability that it has a time. It starts with some configurations far
 * from each other. Of those that are being evaluated it believes the prediction: what is like them is no longer doubtful.
 */
export function bayesian({ space, seed, prior }: StrategyOptions): Strategy {
  const unvisited = unvisitedOf(space.size);
  const sourceOf = stepSource(seed);
  const known = prior && priorMeanOf(space, prior);
  const surrogate = createSurrogate(space, unvisited, known);
  const feasibility = createFeasibility(space);
  const taken: number[] = [];
  /** Asked for and not told yet. */
  const pending = new Set<number>();
  let timedCount = 0;
  let failedCount = 0;
  const take = (index: number): void => {
    if (!unvisited.has(index)) return;
    unvisited.take(index);
    taken.push(index);
  };
  const isStarting = (): boolean => timedCount + failedCount < START_COUNT || timedCount < FEWEST_TIMED;
  /** Of a time, by the place of a configuration. */
  const probabilityOf = (): ((index: number) => number) => {
    const own = feasibility.estimate();
    const before = surrogate.hasPrior ? known : undefined;
    return (index) => own(space.at(index)) * (before?.hasFailed(index) ? FAILED_BEFORE : 1);
  };
  const choose = (): number | undefined => {
    const random = sourceOf(taken.length);
    if (isStarting()) {
      // What is known beforehand takes the place of a start, as long as times bear it out.
      if (known && timedCount === 0 && failedCount < MOST_FAILED)
        return known.fastest.find((index) => unvisited.has(index));
      if (!surrogate.hasPrior || timedCount === 0) return farthest(space, taken, unvisited, random);
    }
    const optimism = OPTIMISM[taken.length % OPTIMISM.length]!;
    const chosen = mostPromising(surrogate.predict([...pending]), probabilityOf(), optimism, unvisited);
    return chosen ?? unvisited.draw(random);
  };
  return {
    ask() {
      const index = choose();
      if (index === undefined) return undefined;
      take(index);
      pending.add(index);
      return index;
    },
    /** Only the beginning follows from nothing but what was asked for. */
    foresee(count) {
      const begun = taken.length;
      const open = Math.min(count, START_COUNT - timedCount - failedCount - pending.size);
      if (known || !(open > 0)) return [];
      try {
        return unvisited.trying(() =>
          askedFor(open, () => {
            const index = farthest(space, taken, unvisited, sourceOf(taken.length));
            if (index !== undefined) take(index);
            return index;
          }),
        );
      } finally {
        taken.length = begun;
      }
    },
    tell(index, outcome) {
      take(index);
      pending.delete(index);
      const isTimed = outcome.kind !== 'failed';
      feasibility.add(index, isTimed, sourceOf(LABELLING + taken.length));
      if (isTimed) timedCount += 1;
      else failedCount += 1;
      if (isTimed) surrogate.add({ index, timeNs: outcome.timeNs }, sourceOf(TELLING + taken.length));
    },
  };
}

/** Of some unvisited configurations the one least like any visited one. */
function farthest(
  space: SearchSpace,
  taken: readonly number[],
  unvisited: Unvisited,
  random: RandomSource,
): number | undefined {
  let best: number | undefined;
  let farthestAway = -1;
  for (let rival = 0; rival < START_RIVALS; rival += 1) {
    const index = unvisited.draw(random);
    if (index === undefined) return undefined;
    const places = space.at(index);
    const away = taken.reduce(
      (least, other) => Math.min(least, distance(space, places, space.at(other))),
      Number.POSITIVE_INFINITY,
    );
    if (!(away > farthestAway)) continue;
    farthestAway = away;
    best = index;
  }
  return best;
}

/** The unvisited member of the pool with the lowest bound; a doubtful one must be the more promising. */
function mostPromising(
  { pool, means, deviations }: Prediction,
  probability: (index: number) => number,
  optimism: number,
  unvisited: Unvisited,
): number | undefined {
  let best: number | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const [member, index] of pool.entries()) {
    if (!unvisited.has(index)) continue;
    const promise = optimism * deviations[member]! - means[member]!;
    // A probability only lowers it, and takes a while to estimate.
    if (promise < highest) continue;
    const weighed = promise + Math.log(probability(index));
    // Pools are in no order of their own: the first of equals must not depend on it.
    if (weighed < highest || (weighed === highest && index > best!)) continue;
    highest = weighed;
    best = index;
  }
  return best;
}
