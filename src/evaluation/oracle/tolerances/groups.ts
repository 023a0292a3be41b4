import { nthSmallest } from '../../../stats/quantile.ts';

/**
 * Fewest elements for an estimate. With fewer, a maximum or a root mean square is too often small by chance. Shorter rows
 * are combined with their neighbours.
 */
const MINIMUM_GROUP_ELEMENTS = 64;

/** Elements of a group: as many whole rows (last axis) as the minimum needs. */
export function groupSizeOf(shape: readonly number[]): number {
  const rowLength = Math.max(1, shape.at(-1) ?? 1);
  return rowLength * Math.ceil(MINIMUM_GROUP_ELEMENTS / rowLength);
}

/** A value for every group of consecutive elements. A short last group is extended backwards to full size. */
function perGroup(
  values: Float64Array,
  groupSize: number,
  of: (values: Float64Array, start: number, end: number) => number,
): Float64Array {
  const result = new Float64Array(Math.ceil(values.length / groupSize));
  for (let group = 0; group < result.length; group++) {
    const end = Math.min(values.length, (group + 1) * groupSize);
    result[group] = of(values, Math.max(0, end - groupSize), end);
  }
  return result;
}

/** Largest finite magnitude of each group. */
export const maximumPerGroup = (values: Float64Array, groupSize: number): Float64Array =>
  perGroup(values, groupSize, (all, start, end) => {
    let maximum = 0;
    for (let i = start; i < end; i++) {
      const magnitude = Math.abs(all[i]!);
      // Neither NaN nor infinity passes.
      if (magnitude > maximum && magnitude < Number.POSITIVE_INFINITY) maximum = magnitude;
    }
    return maximum;
  });

/** Of so few numbers, a median is often small by chance. */
const FEW = 16;

/** Median of each group, from about 65 of its elements if it has more. Without those that are NaN; if these leave few, the largest. */
export function medianPerGroup(values: Float64Array, groupSize: number): Float64Array {
  const samples = new Map<number, Float64Array>(); // by length: nearly all groups have one
  return perGroup(values, groupSize, (all, start, end) => {
    const step = Math.max(1, Math.floor((end - start) / MINIMUM_GROUP_ELEMENTS));
    const length = Math.ceil((end - start) / step);
    const sample = samples.get(length) ?? new Float64Array(length);
    samples.set(length, sample);
    let count = 0;
    for (let i = start; i < end; i += step) if (!Number.isNaN(all[i])) sample[count++] = all[i]!;
    const place = count < Math.min(FEW, length) ? count - 1 : Math.floor(count / 2);
    return nthSmallest(sample.subarray(0, count), place) ?? 0;
  });
}
