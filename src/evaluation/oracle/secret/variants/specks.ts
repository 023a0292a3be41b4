import { isFloating } from '../../../../core/dtype.ts';
import { generatorSetsOf } from '../../../../core/plan/generator-sets.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import { summedOver } from '../../judgeable-sums.ts';
import { type Freedom, wideRangeOf } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** Values of a row that are no zeros: so many, but one of so many at most. */
const SPECKS = { most: 16_384, oneIn: 32 } as const;

/** Of two factors, the product would be nothing but zeros. Whole numbers of a narrow range may be indices. */
function takesSpecks(problem: ProblemFile, freedom: Freedom): string[] {
  const { isFree, outliers, isExact } = freedom;
  const isNumber = (name: string): boolean =>
    isFloating(problem.inputs[name]!.dtype) || wideRangeOf(name, freedom) !== undefined;
  const names = inputsThat(problem, (name) => isFree(name) && isNumber(name) && (isExact || outliers(name)));
  return names.length === 1 && summedOver(problem).length > 0 ? names : [];
}

/**
 * Zeros but for a few values at secret places, all about as large. In a sum of millions of random terms, an eighth may be left out and the others weigh more for it, and the sum is
 * right within its tolerance. Here it is not: where values may be negative, all but one have an opposite elsewhere, so that the sum stays small, and its tolerance too.
 */
function leaveSpecks(values: Float64Array, { problem, buffer, stream, freedom }: Treated): Float64Array {
  if (!takesSpecks(problem, freedom).includes(buffer.name)) return values;
  const columns = columnsOf(buffer);
  const count = Math.max(1, Math.min(SPECKS.most, Math.floor(columns / SPECKS.oneIn)));
  const isSigned = values.some((value) => value < 0) || isDrawnNormal(problem, buffer.name);
  values.fill(0);
  for (let row = 0, lot = 0; row < values.length; row += columns)
    for (let i = 0, size = 1; i < count; i++, lot += 2) {
      const isOpposite = isSigned && i % 2 === 0 && i > 0;
      if (!isOpposite) size = freedom.isExact ? 1 : (1 + stream.uniform(lot + 1)) / 2;
      values[row + Math.floor(stream.uniform(lot) * columns)] = isOpposite ? -size : size;
    }
  return values;
}

/** Whether some generator set of the problem draws values of both signs. */
const isDrawnNormal = (problem: ProblemFile, input: string): boolean =>
  Object.values(generatorSetsOf(problem)).some((set) => set[input]?.kind === 'normal');

export const specks: Treatment = {
  count: (problem, freedom) => (takesSpecks(problem, freedom).length > 0 ? 1 : 0),
  treat: leaveSpecks,
  isForLongSums: () => 'always',
  isAsDrawn: true,
};
