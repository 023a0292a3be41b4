import { isFloating } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import { type Freedom, wideRangeOf } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/** What is divided into two parts, and which of them is plain. */
const DIVIDED = [
  { isWhole: true, isBeginningPlain: true },
  { isWhole: false, isBeginningPlain: true },
  { isWhole: true, isBeginningPlain: false },
  { isWhole: false, isBeginningPlain: false },
] as const;

/** Parts end at a power of two from 2⁴ on, large ones more often: kernels look at the first tile or at some of them. */
const LEAST_EXPONENT = 4;

/** What plain values are between: whole numbers that fit any path for small ones. */
const PLAIN = { integer: 100, float: 3 } as const;

/**
 * An input, or each of its rows, begins with plain values and goes on with others, or the other way round. A kernel that looks at the beginning alone takes all values for small whole
 * numbers.
 */
function divide(values: Float64Array, { buffer, stream, index, freedom }: Treated): Float64Array {
  const { isWhole, isBeginningPlain } = DIVIDED[index]!;
  const length = isWhole ? values.length : columnsOf(buffer);
  const mostExponent = Math.floor(Math.log2(length - 1));
  const isFloat = isFloating(buffer.dtype);
  if (mostExponent < LEAST_EXPONENT || (isFloat && length > freedom.longestRepeated(buffer.name))) return values;
  const end = 2 ** Math.round(LEAST_EXPONENT + (mostExponent - LEAST_EXPONENT) * Math.sqrt(stream.uniform(0)));
  const isSigned = values.some((value) => value < 0);
  const range = isFloat ? undefined : wideRangeOf(buffer.name, freedom);
  const most = isFloat ? PLAIN.float : PLAIN.integer;
  const between = (bound: number, share: number): number =>
    isSigned ? Math.floor((2 * share - 1) * bound) : Math.floor(share * bound);
  for (let i = 0; i < values.length; i++) {
    const isPlain = i % length < end === isBeginningPlain;
    const share = stream.uniform(1 + i);
    if (isPlain) values[i] = between(most, share) || 1;
    else if (range !== undefined) values[i] = between(range, share);
  }
  return values;
}

/** Whole numbers of a narrow range are small everywhere. */
const isDivisible = (problem: ProblemFile, name: string, freedom: Freedom): boolean =>
  freedom.isFree(name) && (isFloating(problem.inputs[name]!.dtype) || wideRangeOf(name, freedom) !== undefined);

export const beginnings: Treatment = {
  count: (problem, freedom) =>
    inputsThat(problem, (name) => isDivisible(problem, name, freedom)).length > 0 ? DIVIDED.length : 0,
  treat: (values, input) =>
    isDivisible(input.problem, input.buffer.name, input.freedom) ? divide(values, input) : values,
};
