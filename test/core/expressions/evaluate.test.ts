import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canBe,
  checkExpression,
  evaluateExpression,
  namesInExpression,
} from '../../../src/core/expressions/evaluate.ts';
import { detailsOf } from '../support/expect-error.ts';

const scope = { S: 512, D: 64, BLOCK_M: 96, causal: 1, 'device.smCount': 58 };

describe('values', () => {
  const cases: [expression: string | number, value: number][] = [
    [7, 7],
    ['7', 7],
    ['0x40', 64],
    ['.5 + 1.25e1', 13],
    ['S', 512],
    ['2 * device.smCount', 116],
    // precedence and associativity, as in C++
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['10 - 4 - 3', 3],
    ['64 / 4 / 2', 8],
    ['7 % 4 * 2', 6],
    ['1 << 2 + 1', 8],
    ['6 & 3 == 3', 0],
    ['(6 & 3) == 2', 1],
    ['1 | 6 ^ 2 & 3', 5],
    ['1 || 0 && 0', 1],
    ['-S + 1', -511],
    ['!causal', 0],
    ['!!S', 1],
    ['~0', -1],
    ['- -3', 3],
    // division is true division; the functions make integers
    ['S / BLOCK_M', 512 / 96],
    ['floor(S / BLOCK_M)', 5],
    ['ceilDiv(S, BLOCK_M)', 6],
    ['ceilDiv(512, 64)', 8],
    ['ceilDiv(-7, 2)', -3],
    ['ceilDiv(7, -2)', -3],
    ['ceilDiv(9007199254740991, 2)', 4503599627370496],
    ['ceil(1.2) + abs(-3)', 5],
    ['min(3, 1, 2) + max(S, D)', 513],
    ['log2(D)', 6],
    ['1 / sqrt(D)', 0.125],
    ['pow(2, 10)', 1024],
    // comparisons and logic give 0 or 1
    ['(S == 512) + (S != 512) + (S <= 512) + (S < 512) + (S >= 512) + (S > 512)', 3],
    ['5 && 7', 1],
    ['0 || 7', 1],
    ['causal ? D : S', 64],
    ['0 ? 1 : 0 ? 2 : 3', 3],
    ['1 ? 0 ? 1 : 2 : 3', 2],
    // beyond 32 bits
    ['1 << 40', 2 ** 40],
    ['(1 << 40) >> 38', 4],
    ['-1 >> 1', -1],
    ['(1 << 40 | 1) & 3', 1],
  ];
  it.each(cases)('%s = %d', (expression, value) => {
    expect(evaluateExpression(expression, scope)).toBe(value);
  });

  it('evaluates only the branch taken', () => {
    expect(evaluateExpression('zero == 0 ? 1 : 5 / zero', { zero: 0 })).toBe(1);
    expect(evaluateExpression('zero && 5 / zero', { zero: 0 })).toBe(0);
    expect(evaluateExpression('one || 5 / 0', { one: 1 })).toBe(1);
  });

  it('never gives -0', () => {
    expect(Object.is(evaluateExpression('-z', { z: 0 }), 0)).toBe(true);
  });

  it('takes new values for a cached expression', () => {
    expect(evaluateExpression('S + 1', { S: 1 })).toBe(2);
    expect(evaluateExpression('S + 1', { S: 2 })).toBe(3);
  });

  it('reads no inherited names', () => {
    expect(detailsOf(() => evaluateExpression('constructor', {})).code).toBe('unknown-name');
    expect(detailsOf(() => evaluateExpression('__proto__', {})).code).toBe('unknown-name');
  });
});

describe('agreement with JavaScript', () => {
  type Sample = { ours: string; theirs: string };
  const { tree } = fc.letrec<{ tree: Sample; leaf: Sample; node: Sample }>((tie) => ({
    leaf: fc.oneof(
      fc.integer({ min: 0, max: 99 }).map((value) => ({ ours: `${value}`, theirs: `${value}` })),
      fc.constantFrom('a', 'b', 'c').map((name) => ({ ours: name, theirs: name })),
    ),
    node: fc
      .tuple(
        tie('tree'),
        tie('tree'),
        fc.constantFrom('+', '-', '*', '<', '<=', '>', '>=', '===', '!==', '&&', '||'),
        fc.boolean(),
      )
      .map(([left, right, operator, parenthesised]) => {
        const ours = operator.replace('===', '==').replace('!==', '!=');
        // JavaScript's comparisons give booleans and its && and || give operands: bring them to 0 and 1.
        const theirs = /[<>=&|]/.test(operator)
          ? `Number(Boolean((${left.theirs})${operator}(${right.theirs})))`
          : `(${left.theirs})${operator}(${right.theirs})`;
        return parenthesised
          ? { ours: `(${left.ours})${ours}(${right.ours})`, theirs }
          : { ours: `((${left.ours}) ${ours} (${right.ours}))`, theirs: `(${theirs})` };
      }),
    tree: fc.oneof({ maxDepth: 5 }, tie('leaf'), tie('node')),
  }));
  it('holds for random arithmetic and logic', () => {
    fc.assert(
      fc.property(tree, fc.integer(), fc.integer({ min: -9, max: 9 }), fc.integer(), (sample, a, b, c) => {
        const expected = Number(new Function('a', 'b', 'c', `return (${sample.theirs})`)(a, b, c)) + 0;
        fc.pre(Number.isFinite(expected));
        expect(evaluateExpression(sample.ours, { a, b, c }) + 0).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('binds chains of operators without parentheses as JavaScript does', () => {
    const operators = ['+', '-', '*', '<<', '>>', '&', '^', '|'];
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...operators), fc.integer({ min: 0, max: 3 })), {
          minLength: 1,
          maxLength: 6,
        }),
        (chain) => {
          const text = `1${chain.map(([operator, value]) => ` ${operator} ${value}`).join('')}`;
          // A sum as a shift count may be negative, which JavaScript takes modulo 32 and we refuse.
          fc.pre(!/(<<|>>)( \d)? \d [-+*]/.test(text));
          expect(evaluateExpression(text, {})).toBe(new Function(`return ${text}`)() + 0);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('mistakes', () => {
  const where = { file: 'kernel.json', path: 'steps[0].grid[1]' };
  const mistake = (text: string | number) => detailsOf(() => evaluateExpression(text, scope, where));

  it('names the file, the JSON path, the column and what was expected', () => {
    expect(mistake('S / (2 + ')).toEqual({
      code: 'expression-syntax',
      message: 'The expression ends too early (column 10 of `S / (2 + `).',
      file: 'kernel.json',
      path: 'steps[0].grid[1]',
      received: 'S / (2 + ',
      expected: 'a number, a name or `(`',
      hint: 'Operators are those of C++; functions: ceilDiv, floor, ceil, abs, log2, sqrt, pow, min, max.',
    });
  });

  it('names what exists and what was meant', () => {
    expect(mistake('ceilDiv(S, BLOCKM)')).toEqual({
      code: 'unknown-name',
      message: 'Unknown name `BLOCKM` (column 12 of `ceilDiv(S, BLOCKM)`).',
      file: 'kernel.json',
      path: 'steps[0].grid[1]',
      received: 'ceilDiv(S, BLOCKM)',
      expected: 'one of S, D, BLOCK_M, causal, device.smCount',
      hint: 'Did you mean `BLOCK_M`?',
    });
  });

  it('says the values behind a division by zero', () => {
    expect(detailsOf(() => evaluateExpression('S / (D - 64)', scope, where))).toEqual({
      code: 'division-by-zero',
      message: 'Division by zero (column 3 of `S / (D - 64)`).',
      file: 'kernel.json',
      path: 'steps[0].grid[1]',
      received: 'S / (D - 64)',
      expected: 'a divisor that is not zero',
      hint: 'Here S = 512, D = 64.',
    });
  });

  const others: [text: string | number, code: string, message: string][] = [
    ['', 'expression-syntax', 'The expression ends too early (column 1 of ``).'],
    ['S D', 'expression-syntax', 'Unexpected `D` (column 3 of `S D`).'],
    ['2S', 'expression-syntax', 'Malformed number (column 1 of `2S`).'],
    ['0x', 'expression-syntax', 'Malformed number (column 1 of `0x`).'],
    ['S = 2', 'expression-syntax', 'Unexpected character `=` (column 3 of `S = 2`).'],
    ['S ? 1', 'expression-syntax', 'The expression ends too early (column 6 of `S ? 1`).'],
    ['(1', 'expression-syntax', 'The expression ends too early (column 3 of `(1`).'],
    ['1)', 'expression-syntax', 'Unexpected `)` (column 2 of `1)`).'],
    ['S; process.exit()', 'expression-syntax', 'Unexpected character `;` (column 2 of `S; process.exit()`).'],
    ['S["x"]', 'expression-syntax', 'Unexpected character `[` (column 2 of `S["x"]`).'],
    ['min()', 'expression-syntax', '`min` got 0 arguments (column 1 of `min()`).'],
    ['floor(1, 2)', 'expression-syntax', '`floor` got 2 arguments (column 1 of `floor(1, 2)`).'],
    ['ceildiv(1, 2)', 'unknown-function', 'Unknown function `ceildiv` (column 1 of `ceildiv(1, 2)`).'],
    ['eval(1)', 'unknown-function', 'Unknown function `eval` (column 1 of `eval(1)`).'],
    ['1 % 0', 'division-by-zero', 'Division by zero (column 3 of `1 % 0`).'],
    ['ceilDiv(1, 0)', 'division-by-zero', 'Division by zero (column 1 of `ceilDiv(1, 0)`).'],
    ['sqrt(-1)', 'not-finite', 'The value is NaN (column 1 of `sqrt(-1)`).'],
    ['log2(0)', 'not-finite', 'The value is -Infinity (column 1 of `log2(0)`).'],
    [Number.NaN, 'not-finite', 'Not a finite number (column 1 of `NaN`).'],
    ['S & 0.5', 'not-an-integer', '`&` got 0.5, which is not an integer (column 3 of `S & 0.5`).'],
    ['1 << -1', 'negative-shift', '`<<` got a negative count, -1 (column 3 of `1 << -1`).'],
    ['~0.5', 'not-an-integer', '`~` got 0.5, which is not an integer (column 1 of `~0.5`).'],
  ];
  it.each(others)('%s → %s', (text, code, message) => {
    const details = mistake(text);
    expect(details).toMatchObject({ code, message, ...where });
    expect(details.expected).toBeTruthy();
    expect(details.hint).toBeTruthy();
  });

  it('suggests the function that was meant', () => {
    expect(mistake('ceildiv(1, 2)').hint).toBe('Did you mean `ceilDiv`?');
  });

  it('bounds nesting and length instead of overflowing the stack', () => {
    expect(mistake(`${'('.repeat(500)}1${')'.repeat(500)}`).expected).toBe('at most 200 levels of nesting');
    expect(mistake(`${'-'.repeat(500)}1`).expected).toBe('at most 200 levels of nesting');
    expect(mistake('1+'.repeat(5000)).expected).toBe('at most 2000 characters');
    expect(evaluateExpression(`${'1+'.repeat(999)}1`, {})).toBe(1000);
  });

  it('never throws anything else, whatever the text', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'S0.1+-*/%()?:<>=!&|^~, ceilDiv') }));
    fc.assert(
      fc.property(text, (expression) => {
        try {
          expect(Number.isFinite(evaluateExpression(expression, scope))).toBe(true);
        } catch (error) {
          expect((error as Error).name).toBe('WarpsmithError');
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('names', () => {
  it('lists each name once, functions left out', () => {
    expect(namesInExpression('ceilDiv(S, D) * S + device.smCount')).toEqual(['S', 'D', 'device.smCount']);
    expect(namesInExpression(3)).toEqual([]);
  });

  it('checks names in branches that would not be taken', () => {
    expect(() => checkExpression('1 ? S : D', ['S', 'D'])).not.toThrow();
    expect(detailsOf(() => checkExpression('1 ? S : T', ['S', 'D']))).toMatchObject({
      code: 'unknown-name',
      expected: 'one of S, D',
    });
  });
});

describe('whether an expression may be 0, or other than 0, where only some names have values', () => {
  it.each([
    ['WIDTH == 4 || N % 4 == 0', false],
    ['!(WIDTH == 2 && N % 2 == 0)', false],
    ['WIDTH == 4 && N % 4 == 0', true],
    ['N % WIDTH == 0', true],
    ['3', false],
  ])('%s may be 0: %s', (text, may) => {
    expect(canBe(false, text, { WIDTH: 4 })).toBe(may);
  });

  it.each([
    ['WIDTH == 2 && N % 2 == 0', false],
    ['N % 2 == 0 && WIDTH == 2', false],
    ['WIDTH == 4 && N % 4 == 0', true],
    ['WIDTH == 2 || N > 9', true],
    ['WIDTH == 2 || WIDTH == 8', false],
    ['N % WIDTH == 0', true],
    ['min(WIDTH, 3) == 3', true],
    ['0', false],
  ])('%s may be other than 0: %s', (text, holds) => {
    expect(canBe(true, text, { WIDTH: 4 })).toBe(holds);
  });
});
