import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cppExpression } from '../../src/handover/launch-header/cpp-expression.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { evaluateHere, expressionText, NAMES, SCOPES } from './support/drawn-expressions.ts';
import { hostCompiler, runHostProgram } from './support/host-compiler.ts';

const NUMBERS = readFileSync(new URL('../../src/handover/templates/numbers.hpp', import.meta.url), 'utf8');

const includes = ['cfloat', 'cmath', 'cstdint', 'cstddef', 'cstdio', 'cstring', 'string']
  .map((header) => `#include <${header}>`)
  .join('\n');

/** What C++ makes of each expression in each scope: a row per scope, NaN for no value. */
const evaluateInCpp = (expressions: readonly string[]): number[][] => {
  const functions = expressions.map((text, index) => {
    const translated = cppExpression(text, (name) => name);
    return `Number f${index}(Number a, Number b, Number c, Number d) {
  (void)a; (void)b; (void)c; (void)d;
  return ${translated};
}`;
  });
  const calls = SCOPES.flatMap((scope) =>
    expressions.map(
      (_, index) =>
        `  std::printf("%.17g\\n", detail::f${index}(${NAMES.map((name) => `Number(${scope[name]})`).join(', ')}).value);`,
    ),
  );
  const main = [
    '#include <cuda_runtime.h>',
    includes,
    NUMBERS,
    'namespace detail {',
    ...functions,
    '}',
    'int main() {',
    '  using detail::Number;',
    ...calls,
    '}',
    '',
  ].join('\n');
  const values = runHostProgram({ 'main.cpp': main })
    .trim()
    .split('\n')
    .map((line) => (line.includes('nan') ? Number.NaN : Number(line)));
  return SCOPES.map((_, row) => values.slice(row * expressions.length, (row + 1) * expressions.length));
};

describe.skipIf(!hostCompiler)('expressions in C++ (needs g++)', () => {
  longTestOf(import.meta.filename)('have the values that they have here, or none where these are errors', () => {
    const expressions = fc.sample(expressionText, { numRuns: 500, seed: 20 });
    const here = SCOPES.map((scope) => expressions.map((text) => evaluateHere(text, scope)));
    const there = evaluateInCpp(expressions);
    for (const [row, scope] of SCOPES.entries()) {
      for (const [index, text] of expressions.entries()) {
        const place = `${text} where ${JSON.stringify(scope)}: ${cppExpression(text, (name) => name)}`;
        expect({ place, value: there[row]![index]! + 0 }).toEqual({ place, value: here[row]![index]! });
      }
    }
    // The sample means something: most have values, some are errors.
    const errors = here.flat().filter(Number.isNaN).length;
    expect(errors).toBeGreaterThan(100);
    expect(errors).toBeLessThan(here.flat().length * 0.7);
  });
});

describe('expressions as C++ text', () => {
  const cpp = (text: string | number): string => cppExpression(text, (name) => name.replaceAll('.', '_'));
  it.each([
    ['ceilDiv(S, BLOCK_M)', 'ceilDiv(S, BLOCK_M)'],
    ['4 * A * D + 2 * B * (2 * D + PAD)', '4 * A * D + 2 * B * (2 * D + PAD)'],
    ['a - (b - c)', 'a - (b - c)'],
    ['(a - b) - c', 'a - b - c'],
    ['a / (b * c)', 'a / (b * c)'],
    // Two literals would be divided as C++ divides ints.
    ['1 / 2 * S', 'Number(1) / 2 * S'],
    ['-3', '-Number(3)'],
    ['a == 1 ? b : c', 'select(a == 1, b, c)'],
    ['min(a, b, 4)', 'minimum(minimum(a, b), 4)'],
    ['a && b || c', '(a && b) || c'],
    ['a + 1 << 2', '(a + 1) << 2'],
    ['3000000000 * S', '3000000000.0 * S'],
    ['kernel.ctasPerSm * device.smCount', 'kernel_ctasPerSm * device_smCount'],
  ])('%s', (text, wanted) => expect(cpp(text)).toBe(wanted));

  it('numbers', () => {
    expect(cpp(32)).toBe('32');
    expect(cpp(-1)).toBe('(-1)');
    expect(cpp(0.5)).toBe('0.5');
    expect(cpp(2 ** 40)).toBe('1099511627776.0');
  });
});
