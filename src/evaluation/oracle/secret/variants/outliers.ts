import type { ProblemFile } from '../../../../core/problem.ts';
import { summedOver } from '../../judgeable-sums.ts';
import type { Freedom } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** What stands out among positive values in a row: some; or none, and all lie just below a power of two; or two, as far as fp32 bears that. */
const STANDING_OUT = ['some', 'none', 'two'] as const;

/**
 * How many stand out at most, and by which powers of two. Of a sum alone, two of 0.75 to 1 times 2²³ beside values of about 1: a running sum stays below 2²⁵, from where on
 * fp32 loses what is added, but whole numbers of 22 bits relative to one of them have lost it. By how much of it values lie below a power of two.
 */
const OUTLIERS = { most: 2, from: 19, to: 22, alone: 23, below: 1 / 64 } as const;

const withOutliers = (problem: ProblemFile, { isFree, outliers: stand }: Freedom): string[] =>
  inputsThat(problem, (name) => isFree(name) && stand(name) && problem.inputs[name]!.dtype === 'f32');

/** Whether results are sums over whole rows of one such input: nothing is multiplied with it, and no running sum goes on without what it has added. */
function isSumAlone(problem: ProblemFile, names: readonly string[]): boolean {
  const summed = summedOver(problem);
  const keepsThem = Object.values(problem.outputs).some(({ shape }) => summed.some((size) => shape.includes(size)));
  return names.length === 1 && summed.includes(`${problem.inputs[names[0]!]!.shape.at(-1)}`) && !keepsThem;
}

function addOutliers(
  values: Float64Array,
  { problem, buffer, stream, index, strength, freedom }: Treated,
): Float64Array {
  if (!withOutliers(problem, freedom).includes(buffer.name)) return values;
  if (STANDING_OUT[index] === 'none') {
    for (let i = 0; i < values.length; i++) values[i] = 1 - OUTLIERS.below * (1 - stream.uniform(i) / 2);
    return values;
  }
  const powerOf = (exponent: number): number => 2 ** Math.round(strength * exponent);
  const standOut = (value: number, share: number): number =>
    STANDING_OUT[index] === 'two'
      ? powerOf(OUTLIERS.alone) * (1 - share / 4)
      : powerOf(OUTLIERS.from + share * (OUTLIERS.to - OUTLIERS.from)) * value;
  const columns = columnsOf(buffer);
  for (let i = 0; i < values.length; i++) values[i] = 0.5 + stream.uniform(i + 4 * values.length);
  for (let row = 0; row * columns < values.length; row++) {
    const lots = Array.from({ length: OUTLIERS.most }, (_, i) => 2 * (OUTLIERS.most * row + i));
    // Two at one place are one.
    const shares = new Map(
      lots.map((lot) => [row * columns + Math.floor(stream.uniform(lot) * columns), stream.uniform(lot + 1)]),
    );
    for (const [place, share] of shares) if (place < values.length) values[place] = standOut(values[place]!, share);
  }
  return values;
}

export const outliers: Treatment = {
  count: (problem, freedom) => {
    const names = withOutliers(problem, freedom);
    if (names.length === 0) return 0;
    return isSumAlone(problem, names) ? STANDING_OUT.length : STANDING_OUT.indexOf('two');
  },
  treat: addOutliers,
  isForLongSums: (index) => (STANDING_OUT[index] === 'none' ? 'by lot' : undefined),
  // Values just below one are so much alike that they round in one direction.
  isAsDrawn: (index) => STANDING_OUT[index] === 'two',
};
