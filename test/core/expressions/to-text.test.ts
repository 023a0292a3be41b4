import { expect, it } from 'vitest';
import { parseExpression } from '../../../src/core/expressions/parser.ts';
import { textOf } from '../../../src/core/expressions/to-text.ts';

it('expressions are printed as they were written, without parentheses that mean nothing', () => {
  for (const text of [
    'min(N, 4096)',
    'N % 1280 == 0 && !(M > 2 || flag)',
    'a - (b - c) - d',
    '(a ? b : c) * 2',
    'a > 2 ? b + 1 : c ? 1 : -d',
    'ceilDiv(N, 2 * 32) << (k & 3)',
  ])
    expect(textOf(parseExpression(text))).toBe(text);
  expect(textOf(parseExpression('((a) + (b * c))'))).toBe('a + b * c');
});
