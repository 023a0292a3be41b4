import { describe, expect, test } from 'vitest';
import { describeBounds, formatFigure, formatMove, formatNs, formatRatio } from '../../src/reports/format.ts';

describe('figures', () => {
  test.each([
    [0.5, '0.5 ns'],
    [999, '999 ns'],
    [999.9, '1 µs'],
    [1234, '1.23 µs'],
    [870_000, '870 µs'],
    [2_870_000, '2.87 ms'],
    [1.5e9, '1.5 s'],
    [Number.NaN, '–'],
  ])('%d ns is %s', (ns, text) => {
    expect(formatNs(ns)).toBe(text);
  });

  test('figures, ratios and moves', () => {
    expect(formatFigure(1234567)).toBe('1,234,567');
    expect(formatFigure(0.03448)).toBe('0.0345');
    expect(formatRatio(1.4)).toBe('1.40×');
    expect(formatRatio(null)).toBe('–');
    expect(formatMove({ kind: 'rung', from: '01', to: '02' })).toBe('01 → 02');
  });
});

test('a provable bound of 0 says nothing', () => {
  expect(describeBounds({ vetoNs: 12_000, attainableNs: 15_000 })).toBe('lower bound 12 µs; attainable 15 µs');
  expect(describeBounds({ vetoNs: 0, attainableNs: 15_000 })).toBe('attainable 15 µs');
});
