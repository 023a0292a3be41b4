import type { RandomSource } from '../stats/random.ts';
import { factorise, solveLower } from './cholesky.ts';
import { type Correlation, correlationOf, type Places, type TraitSetting } from './correlation.ts';
import { integerBelow, unit } from './draw.ts';
import type { Trait } from './traits.ts';

/** Everything the surrogate assumes about a space before it predicts. */
export interface CorrelationSettings {
  readonly traits: readonly TraitSetting[];
  /** Variance that no trait explains, in units of the variance that they do. */
  readonly noise: number;
}

/** Before anything is known: every trait matters somewhat, and reaches over most of its values. */
const TYPICAL = { weight: 0.4, reach: 0.7, noise: 0.01 } as const;
const STEPS = 40;
const REACHES = [0.05, 8] as const;
const NOISES = [1e-4, 0.3] as const;
const MOST_LOG_ODDS = 5;

export const typicalSettings = (traits: readonly Trait[]): CorrelationSettings => ({
  traits: traits.map(() => ({ weight: TYPICAL.weight, reach: TYPICAL.reach })),
  noise: TYPICAL.noise,
});

/**
 * Settings under which these standardised values are more plausible than under `from`: a hill climb on the marginal
 * likelihood with a prior, changing one trait at a time. Few steps each time, since it is repeated as values come in.
 */
export function fitCorrelation(
  traits: readonly Trait[],
  places: readonly Places[],
  values: readonly number[],
  from: CorrelationSettings,
  random: RandomSource,
): CorrelationSettings {
  let best = from;
  let least = implausibility(traits, places, values, from);
  for (let step = 0; step < STEPS; step += 1) {
    const changed = changeOne(best, step % 2 === 0 ? 0.4 : 1, random);
    const found = implausibility(traits, places, values, changed);
    if (!(found < least)) continue;
    least = found;
    best = changed;
  }
  return best;
}

function changeOne(settings: CorrelationSettings, scale: number, random: RandomSource): CorrelationSettings {
  const chosen = integerBelow(random, settings.traits.length + 1);
  if (chosen === settings.traits.length) {
    return { ...settings, noise: clamp(settings.noise * Math.exp(scale * normal(random)), NOISES) };
  }
  const { weight, reach } = settings.traits[chosen]!;
  const odds = clamp(logOdds(weight) + 1.5 * scale * normal(random), [-MOST_LOG_ODDS, MOST_LOG_ODDS]);
  const changesWeight = unit(random) < 0.6;
  const changesReach = !changesWeight || unit(random) < 0.6;
  const changed: TraitSetting = {
    weight: changesWeight ? 1 / (1 + Math.exp(-odds)) : weight,
    reach: changesReach ? clamp(reach * Math.exp(scale * normal(random)), REACHES) : reach,
  };
  return { ...settings, traits: settings.traits.map((setting, index) => (index === chosen ? changed : setting)) };
}

const logOdds = (weight: number): number => Math.log(weight / (1 - weight));
const clamp = (value: number, [low, high]: readonly [number, number]): number => Math.min(high, Math.max(low, value));

/** Standard normal (Box and Muller). */
const normal = (random: RandomSource): number =>
  Math.sqrt(-2 * Math.log(1 - unit(random))) * Math.cos(2 * Math.PI * unit(random));

/** Negative log of marginal likelihood × prior, up to a constant; the variance is integrated out. */
function implausibility(
  traits: readonly Trait[],
  places: readonly Places[],
  values: readonly number[],
  settings: CorrelationSettings,
): number {
  const count = values.length;
  const factor = correlationFactor(places, correlationOf(traits, settings.traits), settings.noise);
  if (!factor) return Number.POSITIVE_INFINITY;
  const whitened = solveLower(factor, count, values);
  const squares = whitened.reduce((sum, value) => sum + value * value, 0);
  let logDeterminant = 0;
  for (let row = 0; row < count; row += 1) logDeterminant += Math.log(factor[row * count + row]!);
  return logDeterminant + 0.5 * count * Math.log((squares + 1) / (count + 1)) + priorPenalty(settings);
}

/** Cholesky factor of the correlations of configurations with one another, as `factorise` gives it. */
export function correlationFactor(
  places: readonly Places[],
  correlation: Correlation,
  noise: number,
): Float64Array | undefined {
  const count = places.length;
  const matrix = new Float64Array(count * count);
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < row; column += 1) {
      matrix[row * count + column] = correlation(places[row]!, places[column]!);
    }
    matrix[row * count + row] = 1 + noise;
  }
  return factorise(matrix, count);
}

/** Broad normal priors on log odds of the weights and logs of reaches and noise. */
function priorPenalty({ traits, noise }: CorrelationSettings): number {
  let penalty = 0.5 * (Math.log(noise / TYPICAL.noise) / 1.5) ** 2;
  for (const { weight, reach } of traits) {
    penalty += 0.5 * (Math.log(reach / TYPICAL.reach) / 0.8) ** 2 + 0.5 * (logOdds(weight) / 1.5) ** 2;
  }
  return penalty;
}
