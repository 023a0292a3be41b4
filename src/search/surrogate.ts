import type { RandomSource } from '../stats/random.ts';
import { correlationOf } from './correlation.ts';
import { fitCorrelation, typicalSettings } from './fit-correlation.ts';
import { type GaussianProcess, gaussianProcess } from './gaussian-process.ts';
import { drawPool } from './pool.ts';
import type { SearchSpace } from './strategy.ts';
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
  /**
   * At least one time must be in.
   * @param pending configurations whose times are on their way: taken to be as predicted.
   */
  predict(pending?: readonly number[]): Prediction;
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
export function createSurrogate(space: SearchSpace, unvisited: Unvisited): Surrogate {
  const traits = traitsOf(space);
  const trials: Trial[] = [];
  const dueFits: { count: number; random: RandomSource }[] = [];
  let settings = typicalSettings(traits);
  let nextFit = 1;
  let plan: Plan = { count: 0, pool: [] };
  let model: Model | undefined;

  const refit = (count: number, random: RandomSource): void => {
    const chosen = representative(trials.slice(0, count), MOST_FITTED);
    const places = chosen.map(({ index }) => space.at(index));
    settings = fitCorrelation(traits, places, standardise(chosen.map(({ timeNs }) => timeNs)), settings, random);
  };
  const build = (): Model => {
    for (const due of dueFits.splice(0)) refit(due.count, due.random);
    const correlation = correlationOf(traits, settings.traits);
    const members = plan.pool.map((index) => space.at(index));
    const process = gaussianProcess(members, correlation, settings.noise);
    const chosen = representative(trials.slice(0, plan.count), MOST_MODELLED);
    for (const { index } of chosen) process.add(space.at(index));
    return { plan, process, trials: chosen, considered: plan.count };
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
      plan = { count: trials.length, pool: drawPool(space, unvisited, elites, POOL_LIMIT, random) };
      model = undefined;
    },
    predict(pending = []) {
      model ??= build();
      const { process } = model;
      for (const trial of trials.slice(model.considered)) {
        process.add(space.at(trial.index));
        model.trials.push(trial);
      }
      model.considered = trials.length;
      const values = standardise(model.trials.map(({ timeNs }) => timeNs));
      const awaited = pending.map((index) => space.at(index));
      return { pool: model.plan.pool, ...process.predict(values, awaited) };
    },
  };
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

/** Parts into which the logarithm cuts the way from the best to the median time. */
const RESOLUTION = 3;
const SMALLEST_SPREAD = 1e-6;

/**
 * Times as a surrogate learns them, with mean 0 and variance 1: the log of how far the log of each time lies above the
 * best, in units of the median's. Differences near the best count in full, those among slow ones little.
 */
export function standardise(times: readonly number[]): number[] {
  const logs = times.map(Math.log);
  const sorted = logs.toSorted((a, b) => a - b);
  const best = sorted[0]!;
  const spread = Math.max(sorted[Math.floor(sorted.length / 2)]! - best, SMALLEST_SPREAD);
  const bent = logs.map((log) => Math.log1p((RESOLUTION * (log - best)) / spread));
  const mean = bent.reduce((sum, value) => sum + value, 0) / bent.length;
  const variance = bent.reduce((sum, value) => sum + (value - mean) ** 2, 0) / bent.length;
  return bent.map((value) => (value - mean) / (Math.sqrt(variance) || 1));
}
