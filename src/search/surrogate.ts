import type { RandomSource } from '../stats/random.ts';
import { factorise, solveLower } from './cholesky.ts';
import { type Correlation, correlationOf } from './correlation.ts';
import { type CorrelationSettings, correlationMatrix, fitCorrelation, typicalSettings } from './fit-correlation.ts';
import { type GaussianProcess, gaussianProcess } from './gaussian-process.ts';
import { drawPool } from './pool.ts';
import type { PriorMean } from './prior.ts';
import { OFFSET_VARIANCE, weighPrior } from './prior-weight.ts';
import type { SearchSpace } from './strategy.ts';
import { meanAndDeviation, standardise } from './time-scale.ts';
import { type Trait, traitsOf } from './traits.ts';
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
/** From this probability on that a prior is worthless, predictions leave it out. */
const MOST_DOUBT = 0.5;

export interface Trial {
  readonly index: number;
  readonly timeNs: number;
}

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
  /** At least one time must be in. */
  predict(): Prediction;
  /** Probability that the prior is worthless, after the times so far; 1 without one. */
  doubt(): number;
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

/** Of the times alone, or of how they differ from a prior's mean by another constant than expected. */
type Basis = 'times' | 'prior';

/**
 * Schedules fits and pools when times arrive, and computes them when needed. So predictions depend on the times and their
 * order, not on when they were requested.
 */
export function createSurrogate(space: SearchSpace, unvisited: Unvisited, prior?: PriorMean): Surrogate {
  const traits = traitsOf(space);
  const trials: Trial[] = [];
  const dueFits: { count: number; random: RandomSource }[] = [];
  let settings = typicalSettings(traits);
  let nextFit = 1;
  let plan: Plan = { count: 0, pool: [] };
  const models = new Map<Basis, Model>();

  const refit = (count: number, random: RandomSource): void => {
    const chosen = representative(trials.slice(0, count), MOST_FITTED);
    const places = chosen.map(({ index }) => space.at(index));
    const values = prior ? unexplained(chosen, prior, traits, settings, space) : standardise(timesOf(chosen));
    settings = fitCorrelation(traits, places, values, settings, random);
  };
  const build = (basis: Basis): Model => {
    for (const due of dueFits.splice(0)) refit(due.count, due.random);
    const correlation = correlationOf(traits, settings.traits);
    const members = plan.pool.map((index) => space.at(index));
    const process =
      basis === 'prior'
        ? gaussianProcess(members, withOffset(correlation), settings.noise / (1 + OFFSET_VARIANCE))
        : gaussianProcess(members, correlation, settings.noise);
    const chosen = representative(trials.slice(0, plan.count), MOST_MODELLED);
    for (const { index } of chosen) process.add(space.at(index));
    return { plan, process, trials: chosen, considered: plan.count };
  };
  const modelOf = (basis: Basis): Model => {
    const model = models.get(basis) ?? build(basis);
    models.set(basis, model);
    for (const trial of trials.slice(model.considered)) {
      model.process.add(space.at(trial.index));
      model.trials.push(trial);
    }
    model.considered = trials.length;
    return model;
  };
  const informed = (mean: PriorMean) => {
    const { process, plan: of, trials: known } = modelOf('prior');
    const pool = of.pool.map((index) => mean.at(index));
    const added = known.map(({ index }) => mean.at(index));
    return { pool: of.pool, ...process.predictAround(mean.standardise(timesOf(known)), { added, pool }) };
  };
  return {
    add(trial, random) {
      const isNewBest = trials.every(({ timeNs }) => trial.timeNs < timeNs);
      trials.push(trial);
      const isFitDue = trials.length >= nextFit;
      if (isFitDue) {
        dueFits.push({ count: trials.length, random });
        nextFit = Math.min(Math.ceil(trials.length * FIT_GROWTH), trials.length + MOST_BETWEEN_FITS);
      }
      const isPoolOutdated = isNewBest && unvisited.count > POOL_LIMIT;
      if (!isFitDue && !isPoolOutdated) return;
      const elites = fastest(trials, ELITE_COUNT).map(({ index }) => index);
      const pool = drawPool(space, unvisited, elites, POOL_LIMIT, random, prior?.fastest);
      plan = { count: trials.length, pool };
      models.clear();
    },
    predict() {
      const around = prior && informed(prior);
      if (around && around.weight.doubt < MOST_DOUBT) return around;
      const { process, plan: of, trials: known } = modelOf('times');
      return { pool: of.pool, ...process.predict(standardise(timesOf(known))) };
    },
    doubt: () => (prior && trials.length > 0 ? informed(prior).weight.doubt : prior ? 0 : 1),
  };
}

const timesOf = (trials: readonly Trial[]): number[] => trials.map(({ timeNs }) => timeNs);

/** The correlation of a process plus a constant: where a prior's times begin is not where these do. */
const withOffset =
  (correlation: Correlation): Correlation =>
  (a, b) =>
    (correlation(a, b) + OFFSET_VARIANCE) / (1 + OFFSET_VARIANCE);

/** What a prior leaves to learn of these times, with variance 1; the times themselves if it is worthless. */
function unexplained(
  trials: readonly Trial[],
  prior: PriorMean,
  traits: readonly Trait[],
  { traits: settings, noise }: CorrelationSettings,
  space: SearchSpace,
): number[] {
  const places = trials.map(({ index }) => space.at(index));
  const count = trials.length;
  const correlation = withOffset(correlationOf(traits, settings));
  const factor = factorise(correlationMatrix(places, correlation, noise / (1 + OFFSET_VARIANCE)), count);
  const values = prior.standardise(timesOf(trials));
  const means = trials.map(({ index }) => prior.at(index));
  const weight = factor && weighPrior(solveLower(factor, count, values), solveLower(factor, count, means));
  if (!weight || weight.doubt >= MOST_DOUBT) return standardise(timesOf(trials));
  const left = values.map((value, place) => value - weight.factor * means[place]!);
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
