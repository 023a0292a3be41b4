import type { RandomSource } from '../stats/random.ts';
import { solveLower } from './cholesky.ts';
import { correlationOf, type Places } from './correlation.ts';
import { type CorrelationSettings, correlationFactor, fitCorrelation, typicalSettings } from './fit-correlation.ts';
import { type GaussianProcess, gaussianProcess } from './gaussian-process.ts';
import { drawPool } from './pool.ts';
import type { PriorMean } from './prior.ts';
import { NO_WEIGHT, type PriorWeight, weighPrior } from './prior-weight.ts';
import type { SearchSpace, Trial } from './strategy.ts';
import { meanAndDeviation, standardise } from './time-scale.ts';
import { traitsOf } from './traits.ts';
import type { Unvisited } from './unvisited.ts';

/** Configurations that are predicted. */
const POOL_LIMIT = 4096;
/** A new fit is due once the number of times has grown by this factor or by this count. */
const FIT_GROWTH = 1.15;
const MOST_BETWEEN_FITS = 32;
/** Most times for a new process, and for a fit of its settings. The cost grows with their cube. */
const MOST_MODELLED = 256;
const MOST_FITTED = 128;
/** In a space too large to be predicted whole, configurations near this many of the fastest are. */
const ELITE_COUNT = 8;
/** With so many times, a prior that is probably worthless is dropped for good. */
const FEWEST_TO_REFUTE = 3;
const MOST_DOUBT = 0.5;

export interface Prediction {
  /** Configurations predicted; some may have been visited since they were chosen. */
  readonly pool: readonly number[];
  /** Of standardised times; by place in the pool. */
  readonly means: Float64Array;
  readonly deviations: Float64Array;
}

/** Predictions for the remaining configurations, from the times so far. */
export interface Surrogate {
  /** Takes in a time. Cheap: everything is computed when a prediction is asked for. */
  add(trial: Trial, random: RandomSource): void;
  /**
   * At least one time must be in.
   * @param pending configurations whose times are on their way: taken to be as predicted.
   */
  predict(pending?: readonly number[]): Prediction;
  /** Whether there is a prior that the times so far bear out. */
  readonly hasPrior: boolean;
}

/** A process over a pool, made when `count` times were known. */
interface Plan {
  readonly count: number;
  readonly pool: readonly number[];
}

interface Model {
  readonly plan: Plan;
  readonly process: GaussianProcess;
  /** Those added to the process, in this order. */
  readonly trials: Trial[];
  /** How many of all times have been considered for it. */
  considered: number;
}

/**
 * Schedules fits and pools when times arrive, and computes them when needed. So predictions depend on the times and their
 * order, not on when they were requested.
 */
export function createSurrogate(space: SearchSpace, unvisited: Unvisited, known?: PriorMean): Surrogate {
  const traits = traitsOf(space);
  let prior = known;
  const trials: Trial[] = [];
  const dueFits: { count: number; prior: PriorMean | undefined; random: RandomSource }[] = [];
  let settings = typicalSettings(traits);
  let nextFit = 1;
  let plan: Plan = { count: 0, pool: [] };
  let model: Model | undefined;

  const refit = ({ count, prior: then, random }: (typeof dueFits)[number]): void => {
    const chosen = representative(trials.slice(0, count), MOST_FITTED);
    const places = chosen.map(({ index }) => space.at(index));
    const times = timesOf(chosen);
    const values = then ? unexplained(then, chosen, times, weigh(chosen, then, settings)) : standardise(times);
    settings = fitCorrelation(traits, places, values, settings, random);
  };
  const weigh = (chosen: readonly Trial[], mean: PriorMean, given: CorrelationSettings): PriorWeight => {
    const places = chosen.map(({ index }) => space.at(index));
    const factor = correlationFactor(places, correlationOf(traits, given.traits), given.noise);
    if (!factor) return NO_WEIGHT;
    const whiten = (values: readonly number[]) => solveLower(factor, chosen.length, values);
    const expected = chosen.map(({ index }) => mean.at(index));
    return weighPrior(whiten(mean.standardise(timesOf(chosen))), whiten(expected), whiten(expected.map(() => 1)));
  };
  const refuted = (mean: PriorMean): boolean =>
    trials.length >= FEWEST_TO_REFUTE &&
    weigh(representative(trials, MOST_FITTED), mean, typicalSettings(traits)).doubt >= MOST_DOUBT;
  const build = (): Model => {
    for (const due of dueFits.splice(0)) refit(due);
    const correlation = correlationOf(traits, settings.traits);
    const members = plan.pool.map((index) => space.at(index));
    const process = gaussianProcess(members, correlation, settings.noise);
    const chosen = representative(trials.slice(0, plan.count), MOST_MODELLED);
    for (const { index } of chosen) process.add(space.at(index));
    return { plan, process, trials: chosen, considered: plan.count };
  };
  const current = (): Model => {
    model ??= build();
    for (const trial of trials.slice(model.considered)) {
      model.process.add(space.at(trial.index));
      model.trials.push(trial);
    }
    model.considered = trials.length;
    return model;
  };
  const informed = (mean: PriorMean, awaited: readonly Places[]): Prediction => {
    const { process, plan: of, trials: known } = current();
    const pool = of.pool.map((index) => mean.at(index));
    const added = known.map(({ index }) => mean.at(index));
    return { pool: of.pool, ...process.predictAround(mean.standardise(timesOf(known)), { added, pool }, awaited) };
  };
  return {
    add(trial, random) {
      const isNewBest = trials.every(({ timeNs }) => trial.timeNs < timeNs);
      trials.push(trial);
      // Judged at every time, so that it does not depend on when predictions are asked for.
      if (prior && refuted(prior)) prior = undefined;
      const isFitDue = trials.length >= nextFit;
      if (isFitDue) {
        dueFits.push({ count: trials.length, prior, random });
        nextFit = Math.min(Math.ceil(trials.length * FIT_GROWTH), trials.length + MOST_BETWEEN_FITS);
      }
      const isPoolOutdated = isNewBest && unvisited.count > POOL_LIMIT;
      if (!isFitDue && !isPoolOutdated) return;
      const elites = fastest(trials, ELITE_COUNT).map(({ index }) => index);
      const pool = drawPool(space, unvisited, elites, POOL_LIMIT, random, prior?.fastest);
      plan = { count: trials.length, pool };
      model = undefined;
    },
    predict(pending = []) {
      const awaited = pending.map((index) => space.at(index));
      if (prior) return informed(prior, awaited);
      const { process, plan: of, trials: known } = current();
      return { pool: of.pool, ...process.predict(standardise(timesOf(known)), awaited) };
    },
    get hasPrior() {
      return prior !== undefined;
    },
  };
}

const timesOf = (trials: readonly Trial[]): number[] => trials.map(({ timeNs }) => timeNs);

/** What a prior leaves to learn of these times, with variance 1. */
function unexplained(
  prior: PriorMean,
  trials: readonly Trial[],
  times: readonly number[],
  { factor }: PriorWeight,
): number[] {
  const left = prior.standardise(times).map((value, place) => value - factor * prior.at(trials[place]!.index));
  const { mean, deviation } = meanAndDeviation(left);
  return left.map((value) => (value - mean) / (deviation || 1));
}

const fastest = (trials: readonly Trial[], count: number): Trial[] =>
  trials.toSorted((a, b) => a.timeNs - b.timeNs).slice(0, count);

/** At most this many: the fastest, which the search is about, and as many of the others, evenly over time. */
function representative(trials: readonly Trial[], limit: number): Trial[] {
  if (trials.length <= limit) return [...trials];
  const best = fastest(trials, limit / 2);
  const isBest = new Set(best);
  const others = trials.filter((trial) => !isBest.has(trial));
  const stride = others.length / (limit / 2);
  return [...best, ...Array.from(best, (_, place) => others[Math.floor(place * stride)]!)];
}
