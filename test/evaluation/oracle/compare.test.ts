import { describe, expect, it } from 'vitest';
import { compareOutput } from '../../../src/evaluation/oracle/compare.ts';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
const compare = (got: number[], want: number[], tolerance = 0.1, rmsLimit?: number) =>
  compareOutput(
    { name: 'Y', shape: [2, want.length / 2] },
    {
      want: Float64Array.from(want),
      tolerances: Float64Array.of(tolerance),
      groupSize: want.length,
      ...(rmsLimit !== undefined && { rmsLimit }),
    },
    Float64Array.from(got),
  );

describe('an element', () => {
  it.each([
    ['within tolerance', 1.05, 1, true],
    ['at the tolerance', 0.5, 0.4, true],
    ['beyond tolerance', 1.2, 1, false],
    ['NaN for a number', nan, 1, false],
    ['NaN for NaN', nan, nan, true],
    ['a number for NaN', 1, nan, false],
    ['an equal infinity', inf, inf, true],
    ['the other infinity', -inf, inf, false],
    ['infinity for a number', inf, 1, false],
    ['a number for infinity', 1, inf, false],
    ['a zero of the other sign', -0, 0, true],
  ])('%s', (_name, got, want, passed) => {
    expect(compare([0, got], [0, want]).passed).toBe(passed);
  });

  it('that is wrong is reported with its index, the first of all, and their number', () => {
    const verdict = compare([0, 1, 5, 0, 0, 7], [0, 1, 2, 0, 0, 3]);
    expect(verdict.firstWrong).toEqual({
      output: 'Y',
      index: [0, 2],
      got: 5,
      want: 2,
      tolerance: 0.1,
      wrongCount: 2,
      elementCount: 6,
      where: 'all at column 2 (the last)',
    });
    expect(verdict.maxAbsoluteError).toBe(4);
    expect(verdict.worstErrorRatio).toBeCloseTo(40);
  });
});

it('names the element nearest its tolerance, with the error and the tolerance of that very element', () => {
  const want = [100, 1];
  const expectation = { want: Float64Array.from(want), tolerances: Float64Array.of(10, 0.1), groupSize: 1 };
  const verdict = compareOutput({ name: 'Y', shape: [2] }, expectation, Float64Array.from([105, 1.0625]));
  // Element 0 has the larger error, element 1 the larger share of its tolerance.
  expect(verdict.maxAbsoluteError).toBe(5);
  expect(verdict.nearest).toEqual({ output: 'Y', index: [1], got: 1.0625, want: 1, error: 0.0625, tolerance: 0.1 });
  expect(verdict.tolerance).toBe(0.1);
});

it('has no largest error when an output is not a number', () => {
  expect(compare([nan, 5], [0, 0]).maxAbsoluteError).toBeNull();
});

it('fails an output that is too short', () => {
  const expectation = { want: new Float64Array(4), tolerances: new Float64Array(1), groupSize: 4 };
  expect(compareOutput({ name: 'Y', shape: [4] }, expectation, new Float64Array(3)).passed).toBe(false);
});

it('fails an error that is small everywhere, by its RMS', () => {
  const want = Array.from({ length: 64 }, () => 0);
  const got = want.map(() => 0.01);
  expect(compare(got, want, 0.1, 0.02).passed).toBe(true);
  expect(compare(got, want, 0.1, 0.009)).toMatchObject({ passed: false, rmsErrorRatio: expect.closeTo(1.111, 3) });
});

it('fails NaN by RMS too', () => {
  expect(compare([nan, 0], [0, 0], 0.1, 1).rmsErrorRatio).toBe(inf);
});
