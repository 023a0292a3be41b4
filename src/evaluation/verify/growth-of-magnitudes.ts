import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { flagsOf } from '../oracle/shapes/drawing.ts';

/** How large a whole number got at a shape. */
export interface Magnitude {
  readonly dimensions: Dimensions;
  readonly magnitude: number;
}

/** That a magnitude is about a product of sizes, times a number. */
export interface Growth {
  /** Powers of dimensions. */
  readonly product: Readonly<Record<string, number>>;
  /** Values of flags with which it is. */
  readonly flags: Dimensions;
  readonly ratio: number;
  /** Of the ratio's logarithm, its middle half. */
  readonly spread: number;
}

/** Factors of a product. */
const MOST_FACTORS = 3;

/** Smaller magnitudes are of a constant, or of a part of a tile; and of the others those of less than so many tiles, or this share of the smallest. */
const TINY = { below: 32, tiles: 4, share: 0.3 } as const;

/** How few magnitudes tell, of different products that have about one ratio; by how much these have to differ; up to which spread a magnitude follows a product; what a further factor has to be better by, what a size counts that is left out although it hardly varies, unless it is about 1; and by how much ratios
 * differ between values of a flag on which the magnitude depends. */
const TELLING = {
  least: 5,
  range: 3,
  spread: 0.6,
  near: 0.1,
  ofFactor: 0.03,
  ofUnknown: 0.06,
  hidden: 8,
  ofFlag: 0.35,
} as const;

/** Several that explain it nearly as well are kept. */
const KEPT = { most: 3, within: 0.12 } as const;

/** Which products of sizes a magnitude follows, the best first; none where it is the same in all shapes. */
export function growthsOf(problem: ProblemFile, magnitudes: readonly Magnitude[]): Growth[] {
  const flags = flagsOf(problem);
  const names = Object.keys(problem.dimensions).filter((name) => !flags.includes(name));
  const products = productsOf(names);
  const conditions: Dimensions[] = [
    {},
    ...flags.flatMap((name) => problem.dimensions[name]!.values!.map((value) => ({ [name]: value }))),
  ];
  const all = conditions.flatMap((condition) => {
    const among = telling(magnitudes.filter(({ dimensions }) => matches(dimensions, condition)));
    if (among.length < TELLING.least || !varies(among.map(({ magnitude }) => magnitude))) return [];
    const unvaried = names.filter((name) => isHidden(among.map(({ dimensions }) => dimensions[name]!)));
    return products.flatMap((product) => {
      const growth = growthAlong(product, condition, among);
      if (!growth) return [];
      const unknown = unvaried.filter((name) => !(name in product)).length;
      const factors = factorsIn(product) + Object.keys(condition).length;
      return [{ growth, worth: growth.spread + TELLING.ofFactor * factors + TELLING.ofUnknown * unknown }];
    });
  });
  const inTurn = all.toSorted((a, b) => a.worth - b.worth);
  return inTurn
    .filter(({ worth }) => worth <= inTurn[0]!.worth + KEPT.within)
    .slice(0, KEPT.most)
    .map(({ growth }) => withItsFlags(problem, growth, magnitudes));
}

/** Some threads may compute it with one value of a flag only, or another number with the other: then with the value with which it is larger. */
function withItsFlags(problem: ProblemFile, growth: Growth, magnitudes: readonly Magnitude[]): Growth {
  const large = magnitudes.filter(({ magnitude }) => magnitude >= TINY.below);
  let flags = growth.flags;
  for (const name of flagsOf(problem)) {
    if (name in flags) continue;
    const ratios = problem.dimensions[name]!.values!.flatMap((value) => {
      const one = { ...flags, [name]: value };
      const ratio = ratioOfLarge(
        growth.product,
        large.filter(({ dimensions }) => matches(dimensions, one)),
      );
      return ratio === undefined ? [] : [{ one, ratio }];
    });
    const [larger, smaller] = ratios.toSorted((a, b) => b.ratio - a.ratio);
    if (larger && smaller && larger.ratio - smaller.ratio > TELLING.ofFlag) flags = larger.one;
  }
  return { ...growth, flags };
}

/** Shares of magnitudes where a product is largest. */
const LARGE = { half: 1 / 2, third: 1 / 3 } as const;

/** The middle one of the ratios' logarithms where the product is large. */
function ratioOfLarge(
  product: Growth['product'],
  magnitudes: readonly Magnitude[],
  share: number = LARGE.half,
): number | undefined {
  const inTurn = magnitudes
    .map(({ dimensions, magnitude }) => ({ size: productAt(product, dimensions), magnitude }))
    .toSorted((a, b) => a.size - b.size);
  const ratios = inTurn
    .slice(Math.floor(inTurn.length * (1 - share)))
    .map(({ size, magnitude }) => Math.log(magnitude / size))
    .toSorted((a, b) => a - b);
  return ratios[Math.floor(ratios.length / 2)];
}

const productAt = (product: Growth['product'], dimensions: Dimensions): number =>
  Object.entries(product).reduce((value, [name, power]) => value * dimensions[name]! ** power, 1);

export const matches = (dimensions: Dimensions, flags: Dimensions): boolean =>
  Object.entries(flags).every(([name, value]) => dimensions[name] === value);

/** About how large the magnitude is at a shape. */
export const magnitudeAt = (growth: Growth, dimensions: Dimensions): number =>
  matches(dimensions, growth.flags) ? growth.ratio * productAt(growth.product, dimensions) : 0;

const factorsIn = (product: Growth['product']): number => Object.values(product).reduce((sum, power) => sum + power, 0);

/** Of so many factors at most, equal ones next to one another. */
function productsOf(names: readonly string[]): Growth['product'][] {
  const found: Growth['product'][] = [];
  const extend = (product: Growth['product'], from: number): void => {
    if (factorsIn(product) === MOST_FACTORS) return;
    for (const [i, name] of names.entries()) {
      if (i < from) continue;
      const longer = { ...product, [name]: (product[name] ?? 0) + 1 };
      found.push(longer);
      extend(longer, i);
    }
  };
  extend({}, 0);
  return found;
}

/** The larger ones, of which rounding up to tiles changes little: several times the smallest, which is mostly one tile. */
function telling(magnitudes: readonly Magnitude[]): Magnitude[] {
  const large = magnitudes
    .filter(({ magnitude }) => magnitude >= TINY.below)
    .toSorted((a, b) => a.magnitude - b.magnitude);
  const tiles = large.filter(({ magnitude }) => magnitude >= TINY.tiles * large[0]!.magnitude);
  return tiles.length >= TELLING.least ? tiles : large.slice(Math.floor(large.length * TINY.share));
}

const varies = (sizes: readonly number[]): boolean => Math.max(...sizes) >= TELLING.range * Math.min(...sizes);

/** Whether a factor of the magnitude may pass for a constant. */
const isHidden = (sizes: readonly number[]): boolean => !varies(sizes) && Math.min(...sizes) >= TELLING.hidden;

function growthAlong(
  product: Growth['product'],
  flags: Dimensions,
  magnitudes: readonly Magnitude[],
): Growth | undefined {
  const sizes = magnitudes.map(({ dimensions }) => productAt(product, dimensions));
  if (!varies(sizes)) return undefined;
  const ratios = magnitudes.map(({ magnitude }, i) => Math.log(magnitude / sizes[i]!));
  const inTurn = ratios.toSorted((a, b) => a - b);
  const at = (share: number): number => inTurn[Math.round(share * (inTurn.length - 1))]!;
  const spread = at(0.75) - at(0.25);
  const isNear = (ratio: number): boolean => Math.abs(ratio - at(0.5)) <= Math.max(spread, TELLING.near);
  const agreeing = new Set(sizes.filter((_, i) => isNear(ratios[i]!)));
  if (agreeing.size < TELLING.least || !varies([...agreeing])) return undefined;
  // Rounding up to tiles changes the largest ones least.
  return spread > TELLING.spread
    ? undefined
    : { product, flags, spread, ratio: Math.exp(ratioOfLarge(product, magnitudes, LARGE.third)!) };
}
