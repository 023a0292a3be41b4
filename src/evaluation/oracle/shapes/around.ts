import type { Dimensions } from '../../../core/problem.ts';
import { roundUp } from '../../../core/values.ts';
import { below, belowInOrder, createStream, inOrder, shuffle } from '../../../stats/random.ts';
import { type Cost, isWithin, SMALL_EMULATED_COST } from './cost.ts';
import {
  ALIGNMENTS,
  type Drawing,
  drawingOf,
  followingSize,
  openDimensions,
  openNames,
  SEVERAL_TILES,
  type ShapesAround,
} from './drawing.ts';
import { listedByLot } from './listed-by-lot.ts';
import { sizeBetween, sizeFrom } from './sizes.ts';

/** A run of so many neighbouring sizes, which begins somewhere in between. */
const AROUND = { from: 300, to: 3000, run: 128 } as const;

/** Shapes with all dimensions alike, besides those of given sizes. */
const EQUAL_SIZES = 24;

/** Sizes of the dimensions beside one that was chosen. */
const BESIDE = {
  least: { least: 1, most: 2 },
  small: { least: 2, most: 4 },
  larger: { least: SEVERAL_TILES, most: 200 },
} as const;

/**
 * Cheap shapes in which a dimension has one of these sizes, or one of a secret run of neighbouring sizes, so that every remainder by
 * a small number is among them. In a secret order.
 */
export function shapesAround(
  source: ShapesAround,
  sizes: readonly number[],
  runLength: number = AROUND.run,
): Dimensions[] {
  const { problem, most, seed } = source;
  const drawing = drawingOf(source, 'shapes around sizes');
  const next = inOrder(createStream(seed, 'sizes around'));
  const found = openDimensions(problem).flatMap(([name, { minimum = 1, maximum = Number.MAX_SAFE_INTEGER }]) => {
    const start = Math.max(minimum, sizeBetween(AROUND.from, AROUND.to, next));
    const run = Array.from({ length: runLength }, (_, i) => start + i);
    const wanted = [...new Set([...sizes, ...run])].filter((size) => size >= minimum && size <= maximum);
    return wanted.flatMap((size) => shapesBeside(drawing, { name, size, most }));
  });
  const all = [...found, ...equalShapes(drawing, { names: openNames(problem), sizes, most })];
  return shuffle(all, belowInOrder(createStream(seed, 'order of shapes around sizes')));
}

/** Up to 2¹⁴, where others are small. */
const POWERS = { most: 14 } as const;

/**
 * Small shapes in which each size is a power of two, and one more or less: rows of shared memory, bins and lookup tables have such sizes.
 * By lot, so many at most.
 */
export function shapesAtPowers(source: Omit<ShapesAround, 'most'>, most: number): Dimensions[] {
  const { problem, seed } = source;
  const drawing = drawingOf(source, 'shapes at powers of two');
  const stream = createStream(seed, 'powers of two');
  const found = Object.entries(problem.dimensions).flatMap(
    ([name, { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER }], dimension) => {
      const powers = values ? [] : Array.from({ length: POWERS.most }, (_, i) => 2 ** (i + 1));
      return powers
        .flatMap((power, i) => [power, power + (stream.bits(POWERS.most * dimension + i) % 2 === 0 ? 1 : -1)])
        .filter((size) => size >= minimum && size <= maximum)
        .flatMap((size) => shapesBeside(drawing, { name, size, most: SMALL_EMULATED_COST }).slice(-1));
    },
  );
  return shuffle(found, belowInOrder(createStream(seed, 'order of powers of two'))).slice(0, most);
}

/**
 * Shapes with this size: with other dimensions as small as can be, a little larger, and with several tiles of them; listed values by lot, half of
 * the time as in the timed shape, and what follows from other dimensions as it follows. None of a kind that does not fit.
 */
export function shapesBeside(
  drawing: Drawing,
  { name, size, most }: { readonly name: string; readonly size: number; readonly most: Cost },
): Dimensions[] {
  const { problem, takes } = drawing;
  return Object.values(BESIDE).flatMap((beside) => {
    // Where values by lot cost too much, or are not taken beside these sizes, there are the timed ones.
    for (const listed of new Set([listedByLot(drawing), drawing.timed]))
      for (const alignment of ALIGNMENTS) {
        const shape = shapeBeside(drawing, { name, size, ...beside, alignment, listed });
        // Multiples only cost more.
        if (!isWithin(most, problem, shape)) break;
        if (takes(shape)) return [shape];
      }
    return [];
  });
}

/** One dimension of this size, others from `least` on and below `most`, and these listed values. */
export function shapeBeside(
  drawing: Drawing,
  wanted: {
    readonly name: string;
    readonly size: number;
    readonly least: number;
    readonly most: number;
    readonly listed: Dimensions;
    readonly alignment?: number;
  },
): Dimensions {
  const { name, size, least, most, listed, alignment = 1 } = wanted;
  const shape: Record<string, number> = {};
  const { problem, next } = drawing;
  for (const [other, declared] of Object.entries(problem.dimensions)) {
    const { values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = declared;
    const drawn = Math.max(minimum, least + below(next, most - least));
    const aligned = Math.min(maximum, roundUp(drawn, alignment));
    const following = followingSize(other, declared, shape);
    shape[other] = other === name ? size : (following ?? (values ? listed[other]! : aligned));
  }
  return shape;
}

/** Shapes with all of these dimensions alike: squares and cubes, of the given sizes and of some ragged ones. */
function equalShapes(
  { problem, timed, takes, next }: Drawing,
  { names, sizes, most }: { names: readonly string[]; sizes: readonly number[]; most: Cost },
): Dimensions[] {
  if (names.length < 2) return [];
  const ragged = Array.from({ length: EQUAL_SIZES }, () => sizeFrom(SEVERAL_TILES, next));
  return [...sizes, ...ragged]
    .map((size): Dimensions => ({ ...timed, ...Object.fromEntries(names.map((name) => [name, size])) }))
    .filter((shape) => isWithin(most, problem, shape) && takes(shape));
}
