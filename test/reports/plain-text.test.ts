import { expect, it } from 'vitest';
import { escapeMarkup } from '../../src/reports/markup.ts';
import { jsonText, plainText } from '../../src/reports/plain-text.ts';

const ESC = '\u001b';

it('shows control characters as their codes, and leaves text as it is', () => {
  expect(plainText(`a${ESC}[2Jb\rc\u0007d\u009be\u007ff`)).toBe('a\\x1b[2Jb\\x0dc\\x07d\\x9be\\x7ff');
  expect(plainText('x\u202ey\u2066z\u200f')).toBe('x\\u202ey\\u2066z\\u200f');
  expect(plainText('tab\there\r\nline × µs … → ✓')).toBe('tab\there\nline × µs … → ✓');
  expect(escapeMarkup(`<${ESC}>`)).toBe('&lt;\\x1b&gt;');
});

it('writes JSON that says the same', () => {
  const value = { [`${ESC}a`]: 'b\u009b\u202e\u007f' };
  const text = jsonText(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(plainText(text)).toBe(text);
});
