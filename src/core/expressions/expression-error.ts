import { WarpsmithError } from '../errors.ts';

/** Where an expression stands: the file, and its JSON path such as `steps[0].grid[1]`. */
export interface ExpressionPlace {
  readonly file?: string | undefined;
  readonly path?: string | undefined;
}

export type ExpressionErrorCode =
  | 'expression-syntax'
  | 'unknown-name'
  | 'unknown-function'
  | 'division-by-zero'
  | 'not-finite'
  | 'not-an-integer'
  | 'negative-shift';

/** The next step if the place of the mistake suggests none. */
const HINTS: Readonly<Record<ExpressionErrorCode, string>> = {
  'expression-syntax': 'Operators are those of C++; functions: ceilDiv, floor, ceil, abs, log2, sqrt, pow, min, max.',
  'unknown-name': 'Expressions know dimensions, scalars, parameters and device.smCount.',
  'unknown-function': 'Write it out with the functions there are.',
  'division-by-zero': 'Guard it with a condition: `x == 0 ? 1 : n / x`.',
  'not-finite': 'Guard it with a condition, or with max(…) and min(…).',
  'not-an-integer': 'Use floor(…) or ceilDiv(…, …).',
  'negative-shift': 'Shift the other way, or use max(0, …).',
};

/** The user-facing error about `text` at `column` (from 1). */
export const expressionError = (
  code: ExpressionErrorCode,
  problem: { message: string; text: string; column: number; expected: string; hint?: string },
  place: ExpressionPlace = {},
): WarpsmithError =>
  new WarpsmithError({
    code,
    message: `${problem.message} (column ${problem.column} of \`${problem.text}\`).`,
    file: place.file,
    path: place.path,
    received: problem.text,
    expected: problem.expected,
    hint: problem.hint ?? HINTS[code],
  });
