import type { DType } from '../../../core/dtype.ts';
import type { Generator } from '../../../core/problem.ts';
import type { GeneratorContext } from './generator.ts';

/** Smallest subnormal of a floating-point dtype, and the smallest normal number as a multiple of it. */
const SUBNORMALS: { readonly [D in DType]?: readonly [smallest: number, count: number] } = {
  f16: [2 ** -24, 2 ** 10],
  bf16: [2 ** -133, 2 ** 7],
  f32: [2 ** -149, 2 ** 23],
  f64: [2 ** -1074, 2 ** 52],
};

const VALUES = {
  '-infinity': () => Number.NEGATIVE_INFINITY,
  infinity: () => Number.POSITIVE_INFINITY,
  nan: () => Number.NaN,
  zero: () => 0,
  subnormal: (dtype: DType, uniform: number, sign: number) => {
    const [smallest, count] = SUBNORMALS[dtype] ?? [1, 1];
    return sign * smallest * (1 + Math.floor(uniform * (count - 1)));
  },
} as const;

const DEFAULT_RATIO = 0.1;

/**
 * Another generator's values, with a share of them replaced by special ones at random places. In every row (last axis) with
 * at least two elements, at least one value stays, unless all are to be replaced: a row of masked logits alone has no right
 * answer.
 */
export const special = (
  values: Float64Array,
  { value, ratio = DEFAULT_RATIO }: Extract<Generator, { kind: 'special' }>,
  { dtype, shape, stream, elementCount, sharedStream, input }: GeneratorContext,
): Float64Array => {
  const places = sharedStream(`special places of ${input}`);
  const rowLength = shape.at(-1) ?? 1;
  for (let i = 0; i < elementCount; i++) {
    const isKept =
      ratio < 1 && i % rowLength === Math.floor(places.uniform(elementCount + i - (i % rowLength)) * rowLength);
    if (isKept || places.uniform(i) >= ratio) continue;
    values[i] = VALUES[value](dtype, stream.uniform(i), places.bits(2 * elementCount + i) % 2 === 0 ? 1 : -1);
  }
  return values;
};
