/**
 * Fewest elements that something is estimated on: below it a largest value, or a root of the mean square, is too often
 * small by luck. Shorter rows are taken together with their neighbours.
 */
const MINIMUM_GROUP_ELEMENTS = 64;

/** Elements of a group: whole rows (last axis), as many as make up the minimum. */
export const groupSizeOf = (shape: readonly number[]): number => {
  const rowLength = Math.max(1, shape.at(-1) ?? 1);
  return rowLength * Math.ceil(MINIMUM_GROUP_ELEMENTS / rowLength);
};

/** Something of every group of consecutive elements; a short last group is widened backwards to full size. */
const perGroup = (
  values: Float64Array,
  groupSize: number,
  of: (values: Float64Array, start: number, end: number) => number,
): Float64Array => {
  const result = new Float64Array(Math.ceil(values.length / groupSize));
  for (let group = 0; group < result.length; group++) {
    const end = Math.min(values.length, (group + 1) * groupSize);
    result[group] = of(values, Math.max(0, end - groupSize), end);
  }
  return result;
};

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

/** Median of each group, of some 65 of its elements where it has more. */
export const medianPerGroup = (values: Float64Array, groupSize: number): Float64Array =>
  perGroup(values, groupSize, (all, start, end) => {
    const step = Math.max(1, Math.floor((end - start) / MINIMUM_GROUP_ELEMENTS));
    const sample = new Float64Array(Math.ceil((end - start) / step));
    for (let i = 0; i < sample.length; i++) sample[i] = all[start + i * step]!;
    sample.sort();
    return sample[Math.floor(sample.length / 2)] ?? 0;
  });
