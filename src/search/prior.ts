import { randomSource } from '../stats/random.ts';
import { solveLower, solveUpper } from './cholesky.ts';
import { correlationOf } from './correlation.ts';
import { correlationFactor, fitCorrelation, typicalSettings } from './fit-correlation.ts';
import type { SearchPrior, SearchSpace, Trial } from './strategy.ts';
import { bend, meanAndDeviation, type Scale, scaleOf } from './time-scale.ts';
import { traitsOf } from './traits.ts';

/** What a prior says, in the units in which a surrogate learns times. */
export interface PriorMean {
  /** Standardised time of a configuration: as the prior has it, or as its times make it likely. */
  at(index: number): number;
  /** Times of this search on the prior's scale, apart from a constant. */
  standardise(times: readonly number[]): number[];
  /** The prior's fastest configurations, the fastest first. */
  readonly fastest: readonly number[];
  /** Whether it had no time there. */
  hasFailed(index: number): boolean;
}

/** Times for the interpolation where a prior says nothing. Its cost grows with their cube. */
const MOST_INTERPOLATED = 128;
/**
 * Below that of times alone: near the best, differences between devices are as large as those between settings, and must not
 * count against a prior that is right about the rest.
 */
const RESOLUTION = 0.5;
/** Fits of the interpolation's settings. */
const FITS = 4;

/** Undefined if the prior has too few times to tell fast from slow. */
export function priorMeanOf(space: SearchSpace, { outcomes }: SearchPrior): PriorMean | undefined {
  const known: Trial[] = [];
  for (const [index, outcome] of outcomes) if (outcome.kind !== 'failed') known.push({ index, timeNs: outcome.timeNs });
  known.sort((a, b) => a.timeNs - b.timeNs || a.index - b.index);
  if (known.length < FEWEST_KNOWN) return undefined;
  const scale = scaleOf(known.map(({ timeNs }) => timeNs));
  const bent = known.map(({ timeNs }) => bend(timeNs, scale, RESOLUTION));
  const { mean, deviation } = meanAndDeviation(bent);
  if (!(deviation > 0)) return undefined;
  const values = new Map(known.map(({ index }, place) => [index, (bent[place]! - mean) / deviation]));
  let interpolate: ((index: number) => number) | undefined;
  return {
    at(index) {
      const value = values.get(index);
      if (value !== undefined) return value;
      interpolate ??= interpolation(space, known, values);
      const likely = interpolate(index);
      values.set(index, likely);
      return likely;
    },
    standardise(times) {
      const bestNs = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
      const own: Scale = { ...scale, best: Math.log(bestNs) };
      return times.map((time) => (bend(time, own, RESOLUTION) - mean) / deviation);
    },
    fastest: known.map(({ index }) => index),
    hasFailed: (index) => outcomes.get(index)?.kind === 'failed',
  };
}

/** With fewer times there is nothing to be learned. */
const FEWEST_KNOWN = 3;

/** A Gaussian process on the prior's own times: its mean goes back to theirs where nothing similar is known. */
function interpolation(
  space: SearchSpace,
  known: readonly Trial[],
  values: ReadonlyMap<number, number>,
): (index: number) => number {
  const traits = traitsOf(space);
  const stride = Math.max(1, known.length / MOST_INTERPOLATED);
  const count = Math.min(known.length, MOST_INTERPOLATED);
  const chosen = Array.from({ length: count }, (_, place) => known[Math.floor(place * stride)]!.index);
  const places = chosen.map((index) => space.at(index));
  const learned = chosen.map((index) => values.get(index)!);
  let settings = typicalSettings(traits);
  for (let fit = 0; fit < FITS; fit += 1) {
    settings = fitCorrelation(traits, places, learned, settings, randomSource(fit));
  }
  const correlation = correlationOf(traits, settings.traits);
  const factor = correlationFactor(places, correlation, settings.noise);
  if (!factor) return () => 0;
  const weights = solveUpper(factor, count, solveLower(factor, count, learned));
  return (index) => {
    const asked = space.at(index);
    return places.reduce((sum, other, place) => sum + weights[place]! * correlation(asked, other), 0);
  };
}
