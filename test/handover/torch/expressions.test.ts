import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PythonStyle, pythonCondition, pythonExpression } from '../../../src/handover/torch/python-expression.ts';
import { longTests } from '../../support/sampling/matrix.ts';
import { evaluateHere, expressionText, NAMES, SCOPES } from '../support/drawn-expressions.ts';
import { inFolder } from '../support/host-compiler.ts';
import { python, runPython } from './support.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const RUNTIME = ['_numbers.py', '_sizes.py'].map((name) => [
  name,
  readFileSync(new URL(`../../../src/handover/templates/torch/${name}`, import.meta.url), 'utf8'),
]);
const numbers: PythonStyle = { kind: 'numbers', nameOf: (name) => name };
const sizes: PythonStyle = { kind: 'sizes', nameOf: (name) => name };

/** What Python makes of each text in each scope: a row per scope, NaN for no value. `convert` is that of the names. */
const evaluateInPython = (
  texts: readonly string[],
  scopes: readonly Readonly<Record<string, number>>[],
  { imports, convert }: { imports: string; convert: string },
): number[][] => {
  const main = [
    'import json',
    imports,
    ...texts.map((text, index) => `def f${index}(${NAMES.join(', ')}):\n    return ${text}\n`),
    `functions = [${texts.map((_, index) => `f${index}`).join(', ')}]`,
    'def value(function, scope):',
    '    try:',
    `        return float(finite(function(*map(${convert}, scope))))`,
    '    except (ArithmeticError, ValueError):',
    '        return None',
    `scopes = ${JSON.stringify(scopes.map((scope) => NAMES.map((name) => scope[name])))}`,
    'print(json.dumps([[value(function, scope) for function in functions] for scope in scopes]))',
  ].join('\n');
  const printed = inFolder(Object.fromEntries([...RUNTIME, ['main.py', main]]), (folder) =>
    runPython(['main.py'], folder),
  );
  return (JSON.parse(printed) as (number | null)[][]).map((row) => row.map((value) => value ?? Number.NaN));
};

describe.skipIf(!python)('expressions in Python (needs python3)', () => {
  long('have the values that they have here, or none where these are errors', () => {
    const expressions = fc.sample(expressionText, { numRuns: 3000, seed: 41 });
    const texts = expressions.map((text) => pythonExpression(text, numbers));
    const there = evaluateInPython(texts, SCOPES, { imports: 'from _numbers import *', convert: 'float' });
    let errors = 0;
    for (const [row, scope] of SCOPES.entries()) {
      for (const [index, text] of expressions.entries()) {
        const place = `${text} where ${JSON.stringify(scope)}: ${texts[index]}`;
        const value = evaluateHere(text, scope);
        if (Number.isNaN(value)) errors++;
        expect({ place, value: there[row]![index]! + 0 }).toEqual({ place, value });
      }
    }
    expect(errors).toBeGreaterThan(500);
    expect(errors).toBeLessThan(0.7 * SCOPES.length * expressions.length);
  });

  long('over sizes, in integers: the same, as long as shapes are made with them', () => {
    const node = fc.letrec<{ node: string }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(...NAMES, '1', '2', '16'),
        fc.tuple(tie('node'), fc.constantFrom('+', '*'), tie('node')).map((parts) => `(${parts.join(' ')})`),
        fc.tuple(tie('node'), tie('node')).map(([a, b]) => `ceilDiv(${a}, ${b})`),
        fc.tuple(tie('node'), tie('node')).map(([a, b]) => `floor(${a} / ${b})`),
        fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(${a} % ${b})`),
        fc.tuple(fc.constantFrom('min', 'max'), tie('node'), tie('node')).map(([f, a, b]) => `${f}(${a}, ${b})`),
        fc.tuple(tie('node'), tie('node'), tie('node')).map(([a, b, c]) => `(${a} > ${b} ? ${b} : ${c})`),
        fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(${a} && !${b} ? 3 : 5)`),
      ),
    })).node;
    const scopes = [
      { a: 7, b: 3, c: 1, d: 64 },
      { a: 1, b: 4096, c: 128, d: 33 },
    ];
    const expressions = fc.sample(node, { numRuns: 1000, seed: 5 });
    const texts = expressions.map((text) => pythonExpression(text, sizes));
    const imports = 'import _sizes as sizes\nfrom _numbers import finite';
    const there = evaluateInPython(texts, scopes, { imports, convert: 'int' });
    for (const [row, scope] of scopes.entries()) {
      for (const [index, text] of expressions.entries()) {
        const here = evaluateHere(text, scope);
        if (Math.abs(here) > Number.MAX_SAFE_INTEGER) continue;
        const place = `${text} where ${JSON.stringify(scope)}: ${texts[index]}`;
        expect({ place, value: there[row]![index]! }).toEqual({ place, value: here });
      }
    }
  });
});

describe('expressions as Python text', () => {
  it.each([
    ['ceilDiv(S, BLOCK_M)', 'ceil_div(S, BLOCK_M)'],
    ['4 * A * D + 2 * B * (2 * D + PAD)', '4.0 * A * D + 2.0 * B * (2.0 * D + PAD)'],
    ['a - (b - c)', 'a - (b - c)'],
    ['(a - b) - c', 'a - b - c'],
    ['1 / 2 * S', 'divide(1.0, 2.0) * S'],
    ['a == 1 ? b : c', '(b if a == 1.0 else c)'],
    // Python would chain them.
    ['a < b < c', '(a < b) < c'],
    ['a * b <= 8', 'finite(a * b) <= 8.0'],
    ['!a == b', '(not truth(a)) == b'],
    ['a && b || c', 'truth(a) and truth(b) or truth(c)'],
    ['-a', 'negative(a)'],
    ['1e30', '1e+30'],
  ])('%s', (text, wanted) => expect(pythonExpression(text, numbers)).toBe(wanted));

  it('conditions are bools, and sizes stay integers', () => {
    expect(pythonCondition('a', numbers)).toBe('truth(a)');
    expect(pythonCondition('a == 1', numbers)).toBe('a == 1.0');
    expect([pythonCondition(0, numbers), pythonCondition(1, numbers)]).toEqual(['False', 'True']);
    expect(pythonExpression('bshd ? D : ceilDiv(S, 2) * D', sizes)).toBe(
      '(D if sizes.truth(bshd) else sizes.ceil_div(S, 2) * D)',
    );
  });
});
