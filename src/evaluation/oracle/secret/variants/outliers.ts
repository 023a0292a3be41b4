import type { ProblemFile } from '../../../../core/problem.ts';
import type { Freedom } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** What stands out among positive values in a row: some, or none, and all lie just below a power of two. */
const STANDING_OUT = ['some', 'none'] as const;

/**
 * How many stand out; which powers of two they are, beside values of about 1, and how often the largest: two of 2²³ leave a running sum below 2²⁵, from where on fp32 loses what
 * is added, and integers of 23 bits relative to one of them have lost it; by how much of it values lie below a power of two.
 */
const OUTLIERS = { most: 2, from: 19, to: 23, largest: 1 / 2, below: 1 / 64 } as const;

const withOutliers = (problem: ProblemFile, { isFree, outliers: stand }: Freedom): string[] =>
  inputsThat(problem, (name) => isFree(name) && stand(name) && problem.inputs[name]!.dtype === 'f32');

function addOutliers(
  values: Float64Array,
  { problem, buffer, stream, index, strength, freedom }: Treated,
): Float64Array {
  if (!withOutliers(problem, freedom).includes(buffer.name)) return values;
  if (STANDING_OUT[index] === 'none') {
    for (let i = 0; i < values.length; i++) values[i] = 1 - OUTLIERS.below * (1 - stream.uniform(i) / 2);
    return values;
  }
  const columns = columnsOf(buffer);
  for (let i = 0; i < values.length; i++) values[i] = 0.5 + stream.uniform(i + 4 * values.length);
  for (let row = 0; row * columns < values.length; row++) {
    const lots = Array.from({ length: OUTLIERS.most }, (_, i) => 2 * (OUTLIERS.most * row + i));
    for (const lot of lots) {
      const place = row * columns + Math.floor(stream.uniform(lot) * columns);
      if (place < values.length) values[place] = 2 ** Math.round(strength * powerOf(stream.uniform(lot + 1)));
    }
  }
  return values;
}

function powerOf(share: number): number {
  if (share < OUTLIERS.largest) return OUTLIERS.to;
  return OUTLIERS.from + ((share - OUTLIERS.largest) / (1 - OUTLIERS.largest)) * (OUTLIERS.to - OUTLIERS.from);
}

export const outliers: Treatment = {
  count: (problem, freedom) => (withOutliers(problem, freedom).length > 0 ? STANDING_OUT.length : 0),
  treat: addOutliers,
  isForLongSums: (index) => (STANDING_OUT[index] === 'none' ? 'by lot' : undefined),
  // Values just below a power of two are so much alike that they round in one direction.
  isAsDrawn: (index) => STANDING_OUT[index] === 'some',
};
