import { isFloating } from '../../../../core/dtype.ts';
import { generatorSetsOf } from '../../../../core/plan/generator-sets.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import { summedOver } from '../../judgeable-sums.ts';
import { type Freedom, hasFewerAxes, wideRangeOf } from '../freedom.ts';
import { isExact } from '../scaling.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** Values of a row that are no zeros: so many, but one of so many at most. `rowsWithOne`: of a factor, one value in one of so many rows. */
const SPECKS = { most: 16_384, oneIn: 32, rowsWithOne: 4 } as const;

/** Of each factor two variants: as many specks as in sums, and hardly any, so that samples of a thousand values see zeros alone. */
const OF_A_FACTOR = 2;

/**
 * The inputs that get specks in turn: the only one, or each of several that have as many axes, as factors of a product have. Whole numbers of a narrow range may be
 * indices.
 */
export function takesSpecks(problem: ProblemFile, freedom: Freedom): string[] {
  const { isFree, outliers, isExact } = freedom;
  const isNumber = (name: string): boolean =>
    isFloating(problem.inputs[name]!.dtype) || wideRangeOf(name, freedom) !== undefined;
  const names = inputsThat(problem, (name) => isFree(name) && isNumber(name) && (isExact || outliers(name)));
  const isTaken = names.length === 1 || names.every((name) => !hasFewerAxes(problem, name));
  return isTaken && summedOver(problem).length > 0 ? names : [];
}

/**
 * Zeros but for a few values at secret places, all about as large. In a sum of millions of random terms, an eighth may be left out and the others weigh more for it, and the sum is
 * right within its tolerance. Here it is not: where values may be negative, all but one have an opposite elsewhere, so that the sum stays small, and its tolerance too. Of several
 * factors one is like that, the others are as drawn.
 */
function leaveSpecks(values: Float64Array, { problem, buffer, stream, freedom, index }: Treated): Float64Array {
  const names = takesSpecks(problem, freedom);
  if (names[Math.floor(index / OF_A_FACTOR)] !== buffer.name) return values;
  const columns = columnsOf(buffer);
  const isRare = names.length > 1 && index % OF_A_FACTOR === 1;
  const count = isRare ? 1 : Math.max(1, Math.min(SPECKS.most, Math.floor(columns / SPECKS.oneIn)));
  const isSigned = values.some((value) => value < 0) || isDrawnNormal(problem, buffer.name);
  values.fill(0);
  const step = columns * (isRare ? SPECKS.rowsWithOne : 1);
  for (let row = 0, lot = 0; row < values.length; row += step)
    for (let i = 0, size = 1; i < count; i++, lot += 2) {
      const isOpposite = isSigned && i % 2 === 0 && i > 0;
      if (!isOpposite) size = freedom.isExact ? 1 : (1 + stream.uniform(lot + 1)) / 2;
      // The last element counts in any case: an end that is forgotten may be a few elements of millions.
      const place = i === 0 && !isRare ? columns - 1 : Math.floor(stream.uniform(lot) * columns);
      values[row + place] = isOpposite ? -size : size;
    }
  return values;
}

/** Whether some generator set of the problem draws values of both signs. */
const isDrawnNormal = (problem: ProblemFile, input: string): boolean =>
  Object.values(generatorSetsOf(problem)).some((set) => set[input]?.kind === 'normal');

export const specks: Treatment = {
  count: (problem, freedom) => {
    const { length } = takesSpecks(problem, freedom);
    return length > 1 ? OF_A_FACTOR * length : length;
  },
  treat: leaveSpecks,
  // Where nothing may err, drawn values show as much.
  isForLongSums: (_, problem) => (isExact(problem) ? undefined : 'always'),
  showsEnds: true,
  isAsDrawn: () => true,
};
