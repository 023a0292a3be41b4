export interface BinaryOperator {
  /** Binds tighter when larger; the order is that of C++. */
  readonly precedence: number;
  readonly apply: (left: number, right: number) => number;
  /** Needs a non-zero right operand. */
  readonly divides?: boolean;
  /** Needs integer operands. */
  readonly integer?: boolean;
  /** Needs a right operand of at least 0. */
  readonly shifts?: boolean;
}

const truth = (condition: boolean): number => (condition ? 1 : 0);
// Through BigInt: sizes go beyond the 32 bits of JavaScript's own bit operators.
const bitwise =
  (apply: (left: bigint, right: bigint) => bigint) =>
  (left: number, right: number): number =>
    Number(apply(BigInt(left), BigInt(right)));

/** Every binary operator; `&&` and `||` are evaluated lazily by the evaluator and give 0 or 1. */
export const BINARY_OPERATORS: ReadonlyMap<string, BinaryOperator> = new Map<string, BinaryOperator>([
  ['||', { precedence: 1, apply: (left, right) => truth(left !== 0 || right !== 0) }],
  ['&&', { precedence: 2, apply: (left, right) => truth(left !== 0 && right !== 0) }],
  ['|', { precedence: 3, integer: true, apply: bitwise((left, right) => left | right) }],
  ['^', { precedence: 4, integer: true, apply: bitwise((left, right) => left ^ right) }],
  ['&', { precedence: 5, integer: true, apply: bitwise((left, right) => left & right) }],
  ['==', { precedence: 6, apply: (left, right) => truth(left === right) }],
  ['!=', { precedence: 6, apply: (left, right) => truth(left !== right) }],
  ['<', { precedence: 7, apply: (left, right) => truth(left < right) }],
  ['<=', { precedence: 7, apply: (left, right) => truth(left <= right) }],
  ['>', { precedence: 7, apply: (left, right) => truth(left > right) }],
  ['>=', { precedence: 7, apply: (left, right) => truth(left >= right) }],
  ['<<', { precedence: 8, integer: true, shifts: true, apply: (left, right) => left * 2 ** right }],
  ['>>', { precedence: 8, integer: true, shifts: true, apply: (left, right) => Math.floor(left / 2 ** right) }],
  ['+', { precedence: 9, apply: (left, right) => left + right }],
  ['-', { precedence: 9, apply: (left, right) => left - right }],
  ['*', { precedence: 10, apply: (left, right) => left * right }],
  ['/', { precedence: 10, divides: true, apply: (left, right) => left / right }],
  ['%', { precedence: 10, divides: true, apply: (left, right) => left % right }],
]);

/** Operators before an operand. */
export const UNARY_OPERATORS: ReadonlyMap<string, { apply: (value: number) => number; integer?: boolean }> = new Map([
  // 0 − x, so that -0 never appears.
  ['-', { apply: (value: number) => 0 - value }],
  ['+', { apply: (value: number) => value }],
  ['!', { apply: (value: number) => truth(value === 0) }],
  ['~', { apply: (value: number) => -value - 1, integer: true }],
]);
