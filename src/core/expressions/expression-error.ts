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

/** The user-facing error about `text` at `column` (from 1). */
export const expressionError = (
  code: ExpressionErrorCode,
  problem: { message: string; text: string; column: number; expected: string; hint?: string },
  place: ExpressionPlace = {},
): WarpsmithError =>
  new WarpsmithError({
    code,
    message: `${problem.message} (column ${problem.column} of \`${problem.text}\`).`,
    ...(place.file !== undefined && { file: place.file }),
    ...(place.path !== undefined && { path: place.path }),
    received: problem.text,
    expected: problem.expected,
    ...(problem.hint !== undefined && { hint: problem.hint }),
  });
