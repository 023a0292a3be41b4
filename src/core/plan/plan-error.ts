import { WarpsmithError } from '../errors.ts';
import { evaluateExpression, namedValues } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import type { Scope } from './scope.ts';

/** An expression, its place in the file, and the names it may use. */
export interface PlacedExpression {
  readonly expression: Expression;
  readonly scope: Scope;
  readonly path: string;
  readonly file?: string;
}

/** The error about an expression with an unusable value: prints the expression, its value and the values of its names. */
export const planError = (
  code: string,
  { expression, scope, path, file }: PlacedExpression,
  problem: { message: string; value: number; expected: string; hint?: string },
): WarpsmithError =>
  new WarpsmithError({
    code,
    message: problem.message,
    file,
    path,
    received: typeof expression === 'number' ? String(expression) : `${expression} = ${problem.value}`,
    expected: problem.expected,
    hint: problem.hint ?? valuesHint(expression, scope),
  });

/** The values of an expression's names, so that the reader can find the wrong one. */
function valuesHint(expression: Expression, scope: Scope): string {
  const values = namedValues(expression, scope);
  return values.length === 0 ? 'Change the number.' : `Here ${values.join(', ')}.`;
}

/**
 * The value of an expression that must be an integer of `[minimum, maximum]`.
 *
 * @throws WarpsmithError `not-an-integer`, `out-of-range`, or as `evaluateExpression`.
 */
export function evaluateInteger(
  placed: PlacedExpression,
  limits: { what: string; minimum: number; maximum?: number; codeBelow?: string; hint?: string; hintAbove?: string },
): number {
  const value = evaluateExpression(placed.expression, placed.scope, placed);
  const maximum = limits.maximum ?? Number.MAX_SAFE_INTEGER;
  // Before any words are made of it: shapes are drawn from thousands, each with a dozen extents.
  if (Number.isInteger(value) && value >= limits.minimum && value <= maximum) return value + 0;
  const expected = `an integer ${limits.maximum === undefined ? `of at least ${limits.minimum}` : `from ${limits.minimum} to ${maximum}`}`;
  const message = `${limits.what} is ${value}.`;
  const hint = limits.hint !== undefined && { hint: limits.hint };
  if (!Number.isInteger(value)) {
    const rounding = 'Use ceilDiv(a, b) to round up or floor(a / b) to round down.';
    throw planError('not-an-integer', placed, { message, value, expected, hint: rounding });
  }
  if (value < limits.minimum) {
    throw planError(limits.codeBelow ?? 'out-of-range', placed, { message, value, expected, ...hint });
  }
  const above = limits.hintAbove === undefined ? hint : { hint: limits.hintAbove };
  throw planError('out-of-range', placed, { message, value, expected, ...above });
}
