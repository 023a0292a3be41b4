import fc from 'fast-check';
import { evaluateExpression } from '../../../src/core/expressions/evaluate.ts';

/** Values of the names in drawn expressions. */
export const SCOPES: readonly Readonly<Record<string, number>>[] = [
  { a: 7, b: 3, c: 0, d: 2.5 },
  { a: 0, b: 1, c: 128, d: -0.75 },
  { a: 1_000_003, b: 64, c: -5, d: 1e9 + 0.5 },
  { a: 4096, b: 2, c: 2, d: 1 / 3 },
];
export const NAMES = Object.keys(SCOPES[0]!);

/** NaN where the expression is an error. */
export const evaluateHere = (text: string, scope: Readonly<Record<string, number>>): number => {
  try {
    return evaluateExpression(text, scope) + 0;
  } catch {
    return Number.NaN;
  }
};

/** Text of expressions of every operator and function; those whose results libraries round differently stay exact. */
export const expressionText = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...NAMES, '0', '1', '2', '3', '0.5', '1e3', '0x10', '3000000000', '9007199254740993'),
    fc
      .tuple(tie('node'), fc.constantFrom('+', '-', '*', '/', '%', '<', '<=', '>', '>=', '==', '!='), tie('node'))
      .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    fc
      .tuple(tie('node'), fc.constantFrom('&&', '||', '&', '|', '^', '<<', '>>'), tie('node'))
      .map(([left, operator, right]) => `${left} ${operator} ${right}`),
    fc.tuple(tie('node'), fc.constantFrom('+', '*', '-'), tie('node')).map((parts) => parts.join(' ')),
    fc.tuple(fc.constantFrom('-', '!', '~', '+'), tie('node')).map(([operator, node]) => `${operator}(${node})`),
    fc.tuple(tie('node'), tie('node'), tie('node')).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => `ceilDiv(${a}, ${b})`),
    fc.tuple(fc.constantFrom('floor', 'ceil', 'abs', 'sqrt', 'min', 'max'), tie('node')).map(([f, a]) => `${f}(${a})`),
    fc.array(tie('node'), { minLength: 2, maxLength: 3 }).map((values) => `max(${values.join(', ')})`),
    fc.array(tie('node'), { minLength: 2, maxLength: 3 }).map((values) => `min(${values.join(', ')})`),
    fc.constantFrom('log2(1)', 'log2(8)', 'log2(65536)', 'log2(0)', 'log2(0 - 1)', 'pow(3, 4)', 'pow(2, 1024)'),
  ),
})).node;
