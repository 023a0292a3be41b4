import { fillElements, type Generate } from './generator.ts';

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
