import type { ReferenceFunction } from '../../src/core/problem.ts';

/** `counts[b]` = how often `b` occurs in `x`. Values that are no bin are not counted. Counts need no rounding. */
export const reference: ReferenceFunction = (inputs, dimensions) => {
  const { x } = inputs as Record<'x', Float64Array>;
  const counts = new Float64Array(dimensions.BINS as number);
  for (const bin of x) if (bin >= 0 && bin < counts.length) counts[bin] = (counts[bin] as number) + 1;
  return { counts };
};
