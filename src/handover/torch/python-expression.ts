import { BINARY_OPERATORS } from '../../core/expressions/operators.ts';
import { parseExpression } from '../../core/expressions/parser.ts';
import type { Expression, ExpressionNode } from '../../core/expressions/syntax-tree.ts';

/**
 * Expressions of problem.json and kernel.json as Python source. `numbers`: over floats, with the functions of
 * templates/torch/_numbers.py, and exactly what `evaluateExpression` computes. `sizes`: over integers, with those of
 * _sizes.py, for sizes that torch.compile may leave open.
 */
export interface PythonStyle {
  readonly kind: 'numbers' | 'sizes';
  readonly nameOf: (name: string) => string;
}

interface Translated {
  readonly text: string;
  /** Of the outermost operator; larger binds tighter. */
  readonly precedence: number;
  /** Whether it is a Python bool: 0 or 1. */
  readonly isTruth?: boolean;
  /** Whether an overflow inside it would have raised an error already. */
  readonly isBounded: boolean;
}

const OR = 1;
const AND = 2;
const NOT = 3;
const COMPARISON = 4;
const PRIMARY = 100;

/** Python has these operators with the same meaning. Comparisons would chain, so their operands are bracketed. */
const NATIVE: ReadonlySet<string> = new Set(['+', '-', '*']);
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);

/** Operators that are functions in Python. */
const FUNCTION_OF: Readonly<Record<string, string>> = {
  '/': 'divide',
  '%': 'remainder',
  '|': 'bit_or',
  '^': 'bit_xor',
  '&': 'bit_and',
  '<<': 'shift_left',
  '>>': 'shift_right',
};
const FUNCTION_NAMES: Readonly<Record<string, string>> = {
  ceilDiv: 'ceil_div',
  floor: 'floor',
  ceil: 'ceil',
  abs: 'absolute',
  log2: 'log2',
  sqrt: 'sqrt',
  pow: 'power',
  min: 'least',
  max: 'greatest',
};
/** Functions that pass an overflow on. */
const PASSES_ON: ReadonlySet<string> = new Set(['divide', 'ceil_div', 'negative']);

/** Names that no generated name may hide. */
export const EXPRESSION_NAMES: readonly string[] = [
  ...Object.values(FUNCTION_OF),
  ...Object.values(FUNCTION_NAMES),
  ...['finite', 'truth', 'negative', 'inverted', 'rounded', 'broken', 'sizes'],
];

/** The expression's value as Python text; binds tighter than a comma. */
export const pythonExpression = (expression: Expression, style: PythonStyle): string =>
  typeof expression === 'number' ? literal(expression, style).text : translate(parseExpression(expression), style).text;

/** As {@link pythonExpression}, a bool: whether the value is not 0. */
export const pythonCondition = (expression: Expression, style: PythonStyle): string =>
  typeof expression === 'number'
    ? expression === 0
      ? 'False'
      : 'True'
    : truthOf(translate(parseExpression(expression), style), style).text;

function literal(value: number, { kind }: PythonStyle): Translated {
  const isWhole = kind === 'numbers' && !/[.e]/.test(String(value));
  const text = isWhole ? `${value}.0` : String(value);
  return { text: value < 0 ? `(${text})` : text, precedence: PRIMARY, isBounded: true };
}

function translate(node: ExpressionNode, style: PythonStyle): Translated {
  switch (node.kind) {
    case 'number':
      return literal(node.value, style);
    case 'name':
      return { text: style.nameOf(node.name), precedence: PRIMARY, isBounded: true };
    case 'unary':
      return unary(node.operator, translate(node.operand, style), style);
    case 'binary':
      return binary(node.operator, translate(node.left, style), translate(node.right, style), style);
    case 'conditional': {
      const [condition, ...branches] = [node.condition, node.whenTrue, node.whenFalse].map((part) =>
        translate(part, style),
      );
      const [whenTrue, whenFalse] = branches.map((branch) => bracketed(branch, OR));
      return {
        text: `(${whenTrue} if ${truthOf(condition!, style).text} else ${whenFalse})`,
        precedence: PRIMARY,
        isBounded: branches.every(({ isBounded }) => isBounded),
      };
    }
    case 'call':
      return call(
        FUNCTION_NAMES[node.functionName]!,
        node.arguments.map((argument) => translate(argument, style)),
        style,
      );
  }
}

function unary(operator: string, operand: Translated, style: PythonStyle): Translated {
  if (operator === '+') return operand;
  if (operator === '!') {
    const text = `not ${bracketed(truthOf(operand, style), NOT)}`;
    return { text, precedence: NOT, isTruth: true, isBounded: true };
  }
  return call(operator === '-' ? 'negative' : 'inverted', [operand], style);
}

function binary(operator: string, left: Translated, right: Translated, style: PythonStyle): Translated {
  const { precedence } = BINARY_OPERATORS.get(operator)!;
  if (operator === '&&' || operator === '||') {
    const [word, own] = operator === '&&' ? ['and', AND] : ['or', OR];
    const [first, second] = [left, right].map((side) => bracketed(truthOf(side, style), (own as number) + 1));
    return { text: `${first} ${word} ${second}`, precedence: own as number, isTruth: true, isBounded: true };
  }
  if (COMPARISONS.has(operator)) {
    const [first, second] = [left, right].map((side) => bracketed(finiteOf(side, style), COMPARISON + 1));
    return { text: `${first} ${operator} ${second}`, precedence: COMPARISON, isTruth: true, isBounded: true };
  }
  if (!NATIVE.has(operator)) return call(FUNCTION_OF[operator]!, [left, right], style);
  const text = `${bracketed(left, precedence)} ${operator} ${bracketed(right, precedence + 1)}`;
  return { text, precedence, isBounded: false };
}

function call(name: string, values: readonly Translated[], { kind }: PythonStyle): Translated {
  const prefix = kind === 'sizes' ? 'sizes.' : '';
  const isBounded = !PASSES_ON.has(name) || (name === 'negative' && values[0]!.isBounded);
  return { text: `${prefix}${name}(${values.map(({ text }) => text).join(', ')})`, precedence: PRIMARY, isBounded };
}

/** An infinity must not get lost in a comparison. */
const finiteOf = (value: Translated, { kind }: PythonStyle): Translated =>
  value.isBounded || kind === 'sizes' ? value : { text: `finite(${value.text})`, precedence: PRIMARY, isBounded: true };

const truthOf = (value: Translated, style: PythonStyle): Translated =>
  value.isTruth ? value : { ...call('truth', [value], style), isTruth: true };

const bracketed = ({ text, precedence }: Translated, least: number): string =>
  precedence < least ? `(${text})` : text;
