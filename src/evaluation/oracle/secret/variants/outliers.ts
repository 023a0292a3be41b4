import type { ProblemFile } from '../../../../core/problem.ts';
import type { Freedom } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** What stands out among positive values in a row: some, or none, and all lie just below a power of two. */
const STANDING_OUT = ['some', 'none'] as const;

/**
 * How many stand out, and by which powers of two: from 2²⁴ on, fp32 loses what lies beside them; by how much of it values lie below a power of two.
 */
const OUTLIERS = { most: 2, from: 19, to: 22, below: 1 / 64 } as const;

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
    // Two at one place are one.
    const powers = new Map(
      lots.map((lot) => [
        row * columns + Math.floor(stream.uniform(lot) * columns),
        strength * (OUTLIERS.from + stream.uniform(lot + 1) * (OUTLIERS.to - OUTLIERS.from)),
      ]),
    );
    for (const [place, power] of powers) if (place < values.length) values[place]! *= 2 ** Math.round(power);
  }
  return values;
}

export const outliers: Treatment = {
  count: (problem, freedom) => (withOutliers(problem, freedom).length > 0 ? STANDING_OUT.length : 0),
  treat: addOutliers,
  isForLongSums: (index) => (STANDING_OUT[index] === 'none' ? 'by lot' : undefined),
};
