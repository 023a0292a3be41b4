import type { Trait } from './traits.ts';

/** The hyperparameters of a trait: the share of variation that it explains, and its length scale. */
export interface TraitSetting {
  /** 0…1. At 0 the trait has no effect; at 1, configurations that differ in it are uncorrelated. */
  readonly weight: number;
  /** Coordinates this far apart are correlated by 1/e in this trait. */
  readonly reach: number;
}

/** Of a configuration, one in each dimension of its space. */
export type Places = Readonly<ArrayLike<number>>;

/** Correlation of the times of two configurations; 1 for equal ones. */
export type Correlation = (a: Places, b: Places) => number;

/**
 * Product over all traits of 1 − weight + weight · exp(−|Δ| ÷ reach). Multiplied out, that is a sum over all subsets of
 * traits: main effects, pairs, and so on, each with the weight that the factors give it, so that a trait of low weight
 * acts by itself and adds its share everywhere. The exponential assumes no smoothness: times of kernels have cliffs.
 */
export function correlationOf(traits: readonly Trait[], settings: readonly TraitSetting[]): Correlation {
  const tables = traits.map((trait, index) =>
    trait.valueCount <= MOST_TABLED ? tableOf(trait, settings[index]!) : undefined,
  );
  const dimensions = traits.map(({ dimension }) => dimension);
  const strides = traits.map(({ valueCount }) => valueCount);
  return (a, b) => {
    let product = 1;
    for (let trait = 0; trait < tables.length; trait += 1) {
      const [from, to] = [a[dimensions[trait]!]!, b[dimensions[trait]!]!];
      const table = tables[trait];
      product *= table ? table[from * strides[trait]! + to]! : factorOf(traits[trait]!, settings[trait]!, from, to);
    }
    return product;
  };
}

/** Traits with at most this many values get a table of all pairs; a longer table would mostly stay unused. */
const MOST_TABLED = 256;

function factorOf({ coordinates }: Trait, { weight, reach }: TraitSetting, a: number, b: number): number {
  const apart = a === b ? 0 : apartOf(coordinates?.[a], coordinates?.[b]);
  return 1 - weight + weight * Math.exp(-apart / reach);
}

/** Factors of one trait for each pair of places. */
function tableOf(trait: Trait, setting: TraitSetting): Float64Array {
  const { valueCount } = trait;
  const table = new Float64Array(valueCount * valueCount);
  for (let a = 0; a < valueCount; a += 1) {
    for (let b = 0; b < valueCount; b += 1) table[a * valueCount + b] = factorOf(trait, setting, a, b);
  }
  return table;
}

const apartOf = (a: number | null | undefined, b: number | null | undefined): number =>
  typeof a === 'number' && typeof b === 'number' ? Math.abs(a - b) : 1;
