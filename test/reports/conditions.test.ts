import { describe, expect, it } from 'vitest';
import type { OneWayCondition } from '../../src/core/evaluation.ts';
import { oneWaySentences } from '../../src/reports/sections/conditions.ts';

const at = (line: number, more: Partial<OneWayCondition> = {}): OneWayCondition => ({
  place: { file: 'kernel.cu', line },
  text: `if (v > ${line}) {`,
  kind: 'comparison',
  was: 'never-true',
  ...more,
});

const sentences = (...oneWay: OneWayCondition[]): string[] =>
  oneWaySentences({ count: 14, libraryDecisions: 3, oneWay });

describe('a verdict about conditions', () => {
  it('says nothing if all went both ways, or nothing is known', () => {
    expect(sentences()).toEqual([]);
    expect(oneWaySentences(undefined)).toEqual([]);
  });

  it('names each with its line, and which way it went', () => {
    expect(
      sentences(
        at(3),
        at(4, { was: 'never-false' }),
        at(5, { kind: 'bound', constant: 600, text: 's = fminf(s, 600.0f);' }),
        at(6, { was: 'one-way', isNear: true }),
      ),
    ).toEqual([
      '4 of 14 conditions went one way in every check. What they guard was not verified:',
      'kernel.cu:3 `if (v > 3) {` was never true',
      'kernel.cu:4 `if (v > 4) {` was never false',
      'kernel.cu:5 `s = fminf(s, 600.0f);`: the bound 600 never applied',
      'a condition near kernel.cu:6 `if (v > 6) {` went one way only',
    ]);
  });

  it('names numbers that never varied', () => {
    const constantResults = [{ place: { file: 'kernel.cu', line: 19 }, text: 'y[i] += __clz(h) >> 5;', always: '0x0' }];
    expect(oneWaySentences({ count: 3, libraryDecisions: 0, oneWay: [], constantResults })).toEqual([
      '1 number computed of loaded values never varied. What depends on that was not verified:',
      'kernel.cu:19 `y[i] += __clz(h) >> 5;` gave 0x0 for all inputs',
    ]);
  });

  it('names a line once, and at most a handful of lines', () => {
    const many = Array.from({ length: 9 }, (_, i) => at(i + 1));
    const told = sentences(at(1, { was: 'one-way' }), ...many, at(20, { was: 'never-reached' }));
    expect(told[0]).toMatch(/^11 of 14/);
    expect(told.slice(1, -1)).toEqual(
      many.slice(0, 4).map(({ text }, i) => `kernel.cu:${i + 1} \`${text}\` was never true`),
    );
    expect(told.at(-1)).toBe('and on 6 more lines; --json names them');
  });
});
