import type { ComparedElement } from '../../core/evaluation.ts';
import { figure } from '../../core/values.ts';
import type { OutputVerdict } from './compare.ts';

/**
 * Why an output is wrong, in words; `undefined` when it passed. E.g. `O[0, 3, 17, 5] = 0.12548, wanted 0.12507 ± 0.00037
 * (off by 0.00041, 12 % over its tolerance); 4096 of 262144 elements wrong: all at columns ≥ 48`.
 */
export function describeVerdict(output: string, verdict: OutputVerdict): string | undefined {
  const { passed, firstWrong: wrong, rmsError, rmsErrorRatio } = verdict;
  if (passed) return undefined;
  if (!wrong) {
    return (
      `RMS error of ${output} is ${digits(rmsError)}, ${excess(rmsErrorRatio, 'its limit')} of ` +
      `${digits(rmsError / rmsErrorRatio)}, though no single element is beyond its tolerance: something accumulates in ` +
      'too low a precision'
    );
  }
  const { wrongCount, elementCount, where } = wrong;
  const place = where === undefined ? '' : `: ${where}`;
  return `${describeElement({ ...wrong, output })}; ${wrongCount} of ${elementCount} elements wrong${place}`;
}

/** e.g. `O[3, 17] = 0.12548, wanted 0.12507 ± 0.00037 (off by 0.00041, 12 % over its tolerance)`. */
function describeElement({ output, index, got, want, tolerance }: Omit<ComparedElement, 'error'>): string {
  const error = Math.abs(got - want);
  const precision = visiblePrecision(got, want);
  const text = `${output}[${index.join(', ')}] = ${digits(got, precision)}, wanted ${digits(want, precision)} ± ${digits(tolerance)}`;
  if (!Number.isFinite(error)) return text;
  const over = tolerance > 0 ? `, ${excess(error / tolerance, 'its tolerance')}` : '';
  return `${text} (off by ${digits(error)}${over})`;
}

/** e.g. `12 % over its tolerance`, `3.1 times its tolerance`. */
function excess(ratio: number, limit: string): string {
  if (ratio >= 2) return `${digits(ratio, 3)} times ${limit}`;
  const percent = (ratio - 1) * 100;
  return `${percent < 1 ? digits(percent, 2) : Math.round(percent)} % over ${limit}`;
}

const LEAST_DIGITS = 5;
const MOST_DIGITS = 17;

/** Significant digits that show at least two digits of the difference. */
function visiblePrecision(got: number, want: number): number {
  const ratio = Math.max(Math.abs(got), Math.abs(want)) / Math.abs(got - want);
  if (!(ratio >= 1) || ratio === Number.POSITIVE_INFINITY) return LEAST_DIGITS;
  return Math.min(MOST_DIGITS, Math.max(LEAST_DIGITS, Math.ceil(Math.log10(ratio)) + 2));
}

const digits = (value: number, precision = LEAST_DIGITS): string => figure(value, precision);
