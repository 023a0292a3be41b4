import type { Generate } from './generator.ts';

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
