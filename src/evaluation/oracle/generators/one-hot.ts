import type { Generate } from './generator.ts';

/** Rows (last axis) with one non-zero element at a random place. Finds swapped or shifted indices. */
export const oneHot: Generate<'one-hot'> = ({ magnitude = 1 }, { shape, elementCount, stream }) => {
  const rowLength = shape.at(-1) ?? 1;
  const values = new Float64Array(elementCount);
  for (let row = 0; row * rowLength < elementCount; row++) {
    values[row * rowLength + Math.floor(stream.uniform(row) * rowLength)] = magnitude;
  }
  return values;
};
