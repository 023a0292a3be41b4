import { fillElements, type Generate, type GeneratorContext } from './generator.ts';

/** Generators of elements that depend on their place. */

/** Rows (last axis) with one non-zero element at a random place. Finds swapped or shifted indices. Zeros are of either sign. */
export const oneHot: Generate<'one-hot'> = ({ magnitude = 1 }, { shape, elementCount, stream }) => {
  const rowLength = shape.at(-1) ?? 1;
  const signs = elementCount; // the stream's place after all rows
  const values = fillElements(elementCount, (i) => (stream.bits(signs + i) % 2 === 0 ? 0 : -0));
  for (let row = 0; row * rowLength < elementCount; row++) {
    values[row * rowLength + Math.floor(stream.uniform(row) * rowLength)] = magnitude;
  }
  return values;
};

/** Each row (last axis) is a permutation of 0 … n−1, by Fisher–Yates. */
export const permutation: Generate<'permutation'> = (_generator, { shape, elementCount, stream }) => {
  const rowLength = shape.at(-1) ?? 1;
  const values = new Float64Array(elementCount);
  for (let start = 0; start < elementCount; start += rowLength) {
    const row = values.subarray(start, start + rowLength);
    for (let i = 0; i < rowLength; i++) row[i] = i;
    for (let i = rowLength - 1; i > 0; i--) {
      const other = Math.floor(stream.uniform(start + i) * (i + 1));
      [row[i], row[other]] = [row[other]!, row[i]!];
    }
  }
  return values;
};

/** Zeros except at a few places. Finds kernels that do not read everything, which random values average out. */
export const sparse: Generate<'sparse'> = ({ count = 64, magnitude = 1 }, { elementCount, stream }) => {
  const values = new Float64Array(elementCount);
  for (let i = 0; i < count; i++) {
    const place = Math.floor(stream.uniform(2 * i) * elementCount);
    values[place] = magnitude * (0.5 + stream.uniform(2 * i + 1));
  }
  return values;
};

/** An element's position along an axis (the last by default), and that axis's extent. */
function alongAxis(
  { shape }: GeneratorContext,
  axis = shape.length - 1,
): { at: (i: number) => number; extent: number } {
  const inner = shape.slice(axis + 1).reduce((product, length) => product * length, 1);
  const extent = shape[axis]!;
  return { at: (i) => Math.floor(i / inner) % extent, extent };
}

/**
 * Uniform magnitudes, by default in [1/16, 1], with alternating signs along an axis. Sums nearly cancel, so a term that is
 * omitted or counted twice is as large as the result.
 */
export const alternating: Generate<'alternating'> = ({ low = 0.0625, high = 1, axis }, context) => {
  const { at } = alongAxis(context, axis);
  const { elementCount, stream } = context;
  return fillElements(elementCount, (i) => (at(i) % 2 === 0 ? 1 : -1) * (low + (high - low) * stream.uniform(i)));
};

/**
 * Values that rise from `low` to `high` along an axis, each drawn within its step. A running maximum changes at every
 * element, and shifted reads show.
 */
export const ramp: Generate<'ramp'> = ({ low, high, axis }, context) => {
  const { at, extent } = alongAxis(context, axis);
  const { elementCount, stream } = context;
  return fillElements(elementCount, (i) => low + ((high - low) * (at(i) + stream.uniform(i))) / extent);
};
