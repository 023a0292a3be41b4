import type { Dimensions, ProblemFile } from '../../core/problem.ts';
import { openNames } from '../oracle/shapes/drawing.ts';

/** A way of a condition: of the code, or of an expression of kernel.json. */
export type Way = number | string;

/** Ways that conditions of sizes go in a shape. */
export type WaysIn = (shape: Dimensions) => ReadonlySet<Way>;

/** Sizes with many divisors: 2^10·3^2·5·7, 2^4·3^4·5^2·7, 2^5·3^2·5^3·11, 2^6·3·5^2·7·13 and a power of two; and how far beside them is looked. */
const SIZES = [322_560, 226_800, 396_000, 436_800, 65_536] as const;
const BESIDE = 4;
const PRIMES = [2, 3, 5, 7, 11, 13] as const;

/** What shapes are sought from. */
export interface DivisibleAim {
  readonly problem: ProblemFile;
  readonly waysIn: WaysIn;
  /** Whether the kernel takes a shape, whatever it costs. */
  readonly takes: (dimensions: Dimensions) => boolean;
  /** Shapes in which one size after the other is replaced. */
  readonly bases: readonly Dimensions[];
  readonly met: ReadonlySet<Way>;
}

/**
 * Shapes for ways that go in none of the shapes that ran, as `N % 1280 == 0` does. A size that most small numbers divide makes such a condition
 * true, whatever the compiler made of the remainder. Then its prime factors are taken away one by one, as long as the way goes: 1280 is left. Sizes
 * beside find other remainders. Conditions are only worked out, and nothing runs.
 */
export function divisibleShapes(aim: DivisibleAim): Dimensions[] {
  const { problem, waysIn, takes, bases } = aim;
  const met = new Set(aim.met);
  const found: Dimensions[] = [];
  const open = openNames(problem);
  const look = (base: Dimensions, name: string, size: number, beside: number): void => {
    const shape = { ...base, [name]: size + beside };
    if (!takes(shape)) return;
    for (const way of waysIn(shape)) {
      if (met.has(way)) continue;
      const least = leastSize(size, (smaller) => {
        const reduced = { ...base, [name]: smaller + beside };
        return takes(reduced) && waysIn(reduced).has(way);
      });
      met.add(way);
      found.push({ ...base, [name]: least + beside });
    }
  };
  for (const base of bases)
    for (const name of open)
      for (const size of SIZES) for (let beside = -BESIDE; beside <= BESIDE; beside++) look(base, name, size, beside);
  return found;
}

function leastSize(size: number, goes: (size: number) => boolean): number {
  let least = size;
  for (const prime of PRIMES) while (least % prime === 0 && goes(least / prime)) least /= prime;
  return least;
}
