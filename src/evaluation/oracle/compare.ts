import type { ComparedElement, WrongElement } from '../../core/evaluation.ts';
import { multiIndexOf } from '../launches/layout.ts';
import { describeWhere } from './describe-where.ts';
import type { Expectation } from './tolerances/tolerance.ts';

/** How one output compared. `passed` needs every element and the RMS error within their limits. */
export interface OutputVerdict {
  passed: boolean;
  /** `null` when some error was not a number. */
  maxAbsoluteError: number | null;
  /** Tolerance of the element with the worst ratio. */
  tolerance: number;
  /** Largest |error| ÷ tolerance; Infinity for NaN, and for any error if none is allowed. */
  worstErrorRatio: number;
  /** RMS error ÷ its limit; 0 when there is none. */
  rmsErrorRatio: number;
  rmsError: number;
  /** The element with the largest ratio; absent if every element equals the wanted value. */
  nearest?: ComparedElement;
  firstWrong?: WrongElement;
}

/** Written as "passes if": NaN fails unless NaN is wanted; equal infinities pass. */
export const agrees = (got: number, want: number, tolerance: number): boolean =>
  got === want || Math.abs(got - want) <= tolerance || (Number.isNaN(got) && Number.isNaN(want));

function ratioOf(error: number, tolerance: number): number {
  if (error === 0) return 0;
  const ratio = error / tolerance;
  return Number.isNaN(ratio) ? Number.POSITIVE_INFINITY : ratio;
}

/** One byte an element: 1 where it is wrong. */
function wrongMarks({ want, tolerances, groupSize, insignificant }: Expectation, got: Float64Array): Uint8Array {
  const marks = new Uint8Array(want.length);
  for (let i = 0; i < want.length; i++) {
    if (insignificant?.[i] === 1) continue;
    if (!agrees(got[i]!, want[i]!, tolerances[Math.floor(i / groupSize)] ?? 0)) marks[i] = 1;
  }
  return marks;
}

/** Compares an output (row-major, float64) with its expectation. */
export function compareOutput(
  output: { name: string; shape: readonly number[] },
  expectation: Expectation,
  got: Float64Array,
): OutputVerdict {
  const { want, tolerances, groupSize, rmsLimit, insignificant } = expectation;
  const elementCount = want.length;
  let [maximumError, squares, wrongCount, firstWrong, worst, worstRatio] = [0, 0, 0, -1, -1, 0];
  for (let start = 0, group = 0; start < elementCount; start += groupSize, group++) {
    const tolerance = tolerances[group]!;
    const end = Math.min(elementCount, start + groupSize);
    for (let i = start; i < end; i++) {
      const a = got[i]!;
      const b = want[i]!;
      const equal = a === b || (Number.isNaN(a) && Number.isNaN(b));
      if (equal || insignificant?.[i] === 1) continue;
      const error = Math.abs(a - b);
      // NaN stays NaN once met: Math.max propagates it.
      maximumError = Math.max(maximumError, error);
      squares += error * error;
      const ratio = ratioOf(error, tolerance);
      if (ratio > worstRatio) [worstRatio, worst] = [ratio, i];
      if (agrees(a, b, tolerance)) continue;
      wrongCount++;
      if (firstWrong < 0) firstWrong = i;
    }
  }
  const rmsError = elementCount === 0 ? 0 : Math.sqrt(squares / elementCount);
  const rmsErrorRatio = rmsLimit === undefined ? 0 : ratioOf(rmsError, rmsLimit);
  const toleranceAt = (i: number): number => tolerances[Math.floor(i / groupSize)] ?? 0;
  return {
    passed: got.length === elementCount && wrongCount === 0 && rmsErrorRatio <= 1,
    maxAbsoluteError: Number.isFinite(maximumError) ? maximumError : null,
    tolerance: toleranceAt(Math.max(0, worst)),
    worstErrorRatio: worstRatio,
    rmsErrorRatio,
    rmsError,
    nearest:
      worst >= 0
        ? {
            output: output.name,
            index: multiIndexOf(output.shape, worst),
            got: got[worst]!,
            want: want[worst]!,
            error: Math.abs(got[worst]! - want[worst]!),
            tolerance: toleranceAt(worst),
          }
        : undefined,
    firstWrong:
      firstWrong >= 0
        ? {
            output: output.name,
            index: multiIndexOf(output.shape, firstWrong),
            got: got[firstWrong]!,
            want: want[firstWrong]!,
            tolerance: toleranceAt(firstWrong),
            wrongCount,
            elementCount,
            where: describeWhere(output.shape, wrongMarks(expectation, got)),
          }
        : undefined,
  };
}
