import type { RandomSource } from '../stats/random.ts';
import { integerBelow, unit } from './draw.ts';
import { fromHypercube } from './from-hypercube.ts';
import type { SearchDimension, SearchSpace, Strategy, StrategyOptions, Trial } from './strategy.ts';
import type { Unvisited } from './unvisited.ts';

/** Latin hypercube before the estimator chooses: the usual 20, then 100 trials. */
const START_COUNT = 20;
/** Number of candidates drawn near good ones, and of random ones. The strategy asks for the most promising. */
const NEAR_COUNT = 48;
const OTHER_COUNT = 16;
/** Bad configurations the density is estimated from; the latest ones. Bounds the cost of a step. */
const MOST_BAD = 256;
/** Share of an ordered value's kernel that is level: neighbours may be nothing alike. */
const LEVEL_SHARE = 0.1;
/** Weight of the uniform prior, in evaluated configurations. */
const PRIOR_WEIGHT = 1;

/**
 * Tree-structured Parzen estimator. It estimates the density of the good and of the bad configurations so far; each is a
 * mixture of kernels around them, over all dimensions at once. The strategy asks for the configuration with the highest
 * ratio of good to bad density. Configurations that the screen tier stopped count as bad, and so do those that are being
 * evaluated, lest the next one be like them. Only listed configurations are
 * weighed, so that constraints hold. A parameter that does not apply counts as a value.
 *
 * Source: J. Bergstra, R. Bardenet, Y. Bengio, B. Kégl, "Algorithms for Hyper-Parameter Optimization" (2011); kernels
 * over all dimensions at once as in S. Falkner, A. Klein, F. Hutter, "BOHB" (2018).
 */
export function tpe(options: StrategyOptions): Strategy {
  /** Times of configurations that failed or were screened out are infinite, so that they count as bad. */
  const trials: Trial[] = [];
  return fromHypercube(options, {
    startCount: START_COUNT,
    choose(unvisited, random, pending) {
      const { good, bad } = split(trials);
      if (good.length === 0) return undefined;
      return mostPromising(options.space, good, [...bad, ...pending], unvisited, random);
    },
    learn(index, outcome) {
      trials.push({ index, timeNs: outcome.kind === 'timed' ? outcome.timeNs : Number.POSITIVE_INFINITY });
    },
  });
}

/** The √n fastest of n trials count as good: few enough to be good, enough for a density. */
function split(trials: readonly Trial[]): { good: number[]; bad: number[] } {
  const timed = trials.filter(({ timeNs }) => timeNs < Number.POSITIVE_INFINITY).sort((a, b) => a.timeNs - b.timeNs);
  const good = timed.slice(0, Math.ceil(Math.sqrt(trials.length))).map(({ index }) => index);
  const isGood = new Set(good);
  const bad = trials.filter(({ index }) => !isGood.has(index)).map(({ index }) => index);
  return { good, bad: bad.slice(-MOST_BAD) };
}

function mostPromising(
  space: SearchSpace,
  good: readonly number[],
  bad: readonly number[],
  unvisited: Unvisited,
  random: RandomSource,
): number | undefined {
  const goodDensity = density(space, good);
  const badDensity = density(space, bad);
  let best: number | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const index of candidates(space, good, unvisited, random)) {
    const places = space.at(index);
    const ratio = goodDensity(places) / badDensity(places);
    if (!(ratio > highest)) continue;
    highest = ratio;
    best = index;
  }
  return best;
}

/** Unvisited configurations near the good ones, and some from anywhere. */
function candidates(
  space: SearchSpace,
  good: readonly number[],
  unvisited: Unvisited,
  random: RandomSource,
): Set<number> {
  const found = new Set<number>();
  const kernels = space.dimensions.map((dimension) => kernelOf(dimension, good.length));
  for (let draw = 0; draw < NEAR_COUNT; draw += 1) {
    const centre = space.at(good[integerBelow(random, good.length)]!);
    const places = Array.from(centre, (place, dimension) => drawPlace(kernels[dimension]!(place), random));
    const index = space.find(places);
    if (index !== undefined && unvisited.has(index)) found.add(index);
  }
  for (let draw = 0; draw < OTHER_COUNT; draw += 1) {
    const index = unvisited.draw(random);
    if (index !== undefined) found.add(index);
  }
  return found;
}

/** A place with these probabilities. */
function drawPlace(probabilities: Float64Array, random: RandomSource): number {
  let left = unit(random);
  for (let place = 0; place < probabilities.length; place += 1) {
    left -= probabilities[place]!;
    if (left < 0) return place;
  }
  return probabilities.length - 1;
}

/** Mixture of kernels around these configurations, and of one that is level everywhere. Not normalised. */
function density(space: SearchSpace, around: readonly number[]): (places: Readonly<ArrayLike<number>>) => number {
  const kernels = space.dimensions.map((dimension) => kernelOf(dimension, around.length));
  const centres = around.map((index) => Array.from(space.at(index)));
  const level = space.dimensions.reduce((product, { values }) => product / values.length, 1);
  return (places) => {
    let sum = PRIOR_WEIGHT * level;
    for (const centre of centres) {
      let product = 1;
      for (let dimension = 0; dimension < kernels.length; dimension += 1) {
        product *= kernels[dimension]!(centre[dimension]!)[places[dimension]!]!;
      }
      sum += product;
    }
    return sum / (centres.length + PRIOR_WEIGHT);
  };
}

/**
 * For every place of a dimension the probabilities of all places around it: normal over ordered values, one weight for
 * all others of unordered ones. The more configurations, the narrower (Scott's rule, for as many dimensions as matter).
 */
function kernelOf({ values, ordered }: SearchDimension, count: number): (place: number) => Float64Array {
  const narrowing = Math.max(count, 1) ** (-1 / 5);
  const width = Math.max(0.4, (values.length / 4) * narrowing);
  const otherWeight = 0.5 * narrowing;
  const kernel = (from: number): Float64Array => {
    const centre = values[from];
    const weights = Float64Array.from(values, (value, to) => {
      if (from === to) return 1;
      if (!ordered || centre === null || value === null) return otherWeight / (values.length - 1);
      return (1 - LEVEL_SHARE) * Math.exp(-0.5 * ((to - from) / width) ** 2) + LEVEL_SHARE / values.length;
    });
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  };
  // A long range has far more places than centres.
  const known = new Map<number, Float64Array>();
  return (place) => {
    const found = known.get(place) ?? kernel(place);
    known.set(place, found);
    return found;
  };
}
