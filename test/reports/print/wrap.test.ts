import { describe, expect, it } from 'vitest';
import { wrapText } from '../../../src/reports/print/wrap.ts';

const wrap = (text: string, width: number, hang = 2): string[] => wrapText(text, width, hang);

describe('wrapped prose', () => {
  it('has lines of at most the width, later ones indented', () => {
    expect(wrap('one two three four', 9)).toEqual(['one two', '  three', '  four']);
    expect(wrap('one two three four', 9, 0)).toEqual(['one two', 'three', 'four']);
    expect(wrap('fits', 80)).toEqual(['fits']);
    expect(wrap('', 80)).toEqual(['']);
  });

  it('breaks no word, and no number off its unit', () => {
    expect(wrap('see /a/path/longer/than/that now', 10)).toEqual(['see', '  /a/path/longer/than/that', '  now']);
    expect(wrap('it takes 12.5 µs, as seen', 13)).toEqual(['it takes', '  12.5 µs, as', '  seen']);
  });

  it('counts what is seen, not bytes', () => {
    expect(wrap('µµ ×× δδ', 5)).toEqual(['µµ ××', '  δδ']);
  });
});
