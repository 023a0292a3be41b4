import type { Generate } from './generator.ts';

/** Zeros except at a few places. Finds kernels that do not read everything, which random values average out. */
export const sparse: Generate<'sparse'> = ({ count = 64, magnitude = 1 }, { elementCount, stream }) => {
  const values = new Float64Array(elementCount);
  for (let i = 0; i < count; i++) {
    const place = Math.floor(stream.uniform(2 * i) * elementCount);
    values[place] = magnitude * (0.5 + stream.uniform(2 * i + 1));
  }
  return values;
};
