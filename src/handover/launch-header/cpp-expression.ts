import { BINARY_OPERATORS } from '../../core/expressions/operators.ts';
import { parseExpression } from '../../core/expressions/parser.ts';
import type { Expression, ExpressionNode } from '../../core/expressions/syntax-tree.ts';

/**
 * kernel.json's expressions as C++ over the launch header's `Number`, whose operators do what `evaluateExpression` does:
 * real arithmetic in double, and no value for a division by zero, a fraction where an integer is needed, an overflow.
 */

/** C++ text, and whether it is of type `Number` (else a plain literal, whose arithmetic would be C++'s own). */
interface Translated {
  readonly text: string;
  readonly isNumber: boolean;
  /** Of the outermost operator; larger binds tighter. */
  readonly precedence: number;
}

const PRIMARY = 100;
const UNARY = 50;
const LARGEST_INT = 2 ** 31 - 1;

const BRACKETS_OPERANDS = new Set(['||', '|', '^', '&', '<<', '>>']);
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=']);
const ADDITION = BINARY_OPERATORS.get('+')!.precedence;

/** Compilers warn of && in ||, + in <<, == in &, ! or < in ==: brackets there say what precedence says anyway. */
function needsBrackets(operator: string, precedence: number, side: number): boolean {
  if (COMPARISONS.has(operator)) return side < ADDITION || side === UNARY;
  return BRACKETS_OPERANDS.has(operator) && side <= UNARY && side !== precedence;
}

/** Functions whose C++ names differ; `min` and `max` are macros on some systems. */
const FUNCTION_NAMES: Readonly<Record<string, string>> = { min: 'minimum', max: 'maximum' };
/** Two-argument functions in C++ that take any number of arguments in expressions. */
const FOLDED = new Set(['min', 'max']);

/** The expression as C++ text of type `Number`, or a literal that converts to it. */
export const cppExpression = (expression: Expression, nameOf: (name: string) => string): string =>
  typeof expression === 'number' ? literal(expression).text : translate(parseExpression(expression), nameOf).text;

function literal(value: number): Translated {
  const isInt = Number.isInteger(value) && Math.abs(value) <= LARGEST_INT;
  const text = isInt || /[.e]/.test(String(value)) ? String(value) : `${value}.0`;
  return { text: value < 0 ? `(${text})` : text, isNumber: false, precedence: PRIMARY };
}

function translate(node: ExpressionNode, nameOf: (name: string) => string): Translated {
  switch (node.kind) {
    case 'number':
      return literal(node.value);
    case 'name':
      return { text: nameOf(node.name), isNumber: true, precedence: PRIMARY };
    case 'unary': {
      const operand = translate(node.operand, nameOf);
      return { text: `${node.operator}${bracketed(asNumber(operand), PRIMARY)}`, isNumber: true, precedence: UNARY };
    }
    case 'binary':
      return binary(node.operator, translate(node.left, nameOf), translate(node.right, nameOf));
    case 'conditional':
      return call('select', [node.condition, node.whenTrue, node.whenFalse], nameOf);
    case 'call':
      return callOf(node.functionName, node.arguments, nameOf);
  }
}

function binary(operator: string, left: Translated, right: Translated): Translated {
  const { precedence } = BINARY_OPERATORS.get(operator)!;
  const first = left.isNumber || right.isNumber ? left : asNumber(left);
  const mixes = (side: Translated) => needsBrackets(operator, precedence, side.precedence);
  const leftText = mixes(first) ? `(${first.text})` : bracketed(first, precedence);
  const rightText = mixes(right) ? `(${right.text})` : bracketed(right, precedence + 1);
  return { text: `${leftText} ${operator} ${rightText}`, isNumber: true, precedence };
}

const bracketed = ({ text, precedence }: Translated, least: number): string =>
  precedence < least ? `(${text})` : text;

const asNumber = (value: Translated): Translated =>
  value.isNumber ? value : { text: `Number(${value.text})`, isNumber: true, precedence: PRIMARY };

const call = (name: string, values: readonly ExpressionNode[], nameOf: (name: string) => string): Translated => ({
  text: `${name}(${values.map((value) => translate(value, nameOf).text).join(', ')})`,
  isNumber: true,
  precedence: PRIMARY,
});

function callOf(name: string, values: readonly ExpressionNode[], nameOf: (name: string) => string): Translated {
  const cppName = FUNCTION_NAMES[name] ?? name;
  if (!FOLDED.has(name)) return call(cppName, values, nameOf);
  const [first, ...rest] = values.map((value) => translate(value, nameOf).text);
  if (rest.length === 0) return { text: `Number(${first!})`, isNumber: true, precedence: PRIMARY };
  const text = rest.reduce((folded, value) => `${cppName}(${folded}, ${value})`, first!);
  return { text, isNumber: true, precedence: PRIMARY };
}
