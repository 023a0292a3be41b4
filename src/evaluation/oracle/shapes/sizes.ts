import { roundUp } from '../../../core/values.ts';
import { below, type Draw } from '../../../stats/random.ts';

/**
 * Sizes for the dimension that a shape tests: several tiles, sometimes very many. Other dimensions are small half of the
 * time.
 */
export const ABOUT = { least: 17, most: 300, longest: 40_000, longRatio: 0.2 } as const;
const SMALL = { ratio: 0.5, count: 4 } as const;

/**
 * Usual tiles, and how often a size is a multiple of one, or one beside it: there tails, vector remainders and paths for
 * whole tiles go wrong, which a uniform draw meets once in as many shapes as a tile has elements.
 */
const EDGE = { ratio: 0.75, tiles: [16, 32, 64, 128, 256, 512, 1024] } as const;

/** How often a size that must be a multiple is an odd one, and no power of two. */
const ODD_MULTIPLE_RATIO = 0.5;

export function sizeFrom(least: number, next: Draw): number {
  if (next() < ABOUT.longRatio) return logUniform(least, Math.max(2 * least, ABOUT.longest), next);
  return least + below(next, Math.max(least, ABOUT.most));
}

export function smallOrAny(minimum: number, next: Draw): number {
  if (next() < SMALL.ratio) return minimum + below(next, SMALL.count);
  return logUniform(minimum, Math.max(minimum + SMALL.count, ABOUT.most), next);
}

/** Often a multiple of a usual tile, or one more or one less; small sizes stay. */
export function besideATile(size: number, next: Draw): number {
  const tiles = EDGE.tiles.filter((tile) => 2 * tile <= size); // no shape gets much larger
  if (tiles.length === 0 || next() >= EDGE.ratio) return size;
  const tile = tiles[below(next, tiles.length)]!;
  const offset = below(next, 3) - 1;
  return offset === 0 ? oddMultiple(size, tile) : Math.round(size / tile) * tile + offset;
}

export function multipleFrom(size: number, alignment: number, next: Draw): number {
  if (alignment === 1) return besideATile(size, next);
  return next() < ODD_MULTIPLE_RATIO ? oddMultiple(size, alignment) : roundUp(size, alignment);
}

/** About as large, at least three times the unit, and no multiple of twice the unit. */
const oddMultiple = (size: number, unit: number): number => unit * Math.max(3, Math.ceil(size / unit) | 1);

/** Integers of every order of magnitude alike. */
export const logUniform = (low: number, high: number, next: Draw): number =>
  Math.floor(Math.exp(Math.log(low + 1) + next() * Math.log((high + 1) / (low + 1)))) - 1 || low;

/** From one size to another, every order of magnitude alike. */
export const sizeBetween = (from: number, to: number, next: Draw): number => Math.round(from * (to / from) ** next());
