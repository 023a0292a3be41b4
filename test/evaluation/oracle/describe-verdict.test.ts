import { describe, expect, it } from 'vitest';
import { compareOutput } from '../../../src/evaluation/oracle/compare.ts';
import { describeVerdict } from '../../../src/evaluation/oracle/describe-verdict.ts';

const describeOne = (got: number[], want: number[], tolerance: number, rmsLimit?: number): string | undefined =>
  describeVerdict(
    'Y',
    compareOutput(
      { name: 'Y', shape: [want.length] },
      {
        want: Float64Array.from(want),
        tolerances: Float64Array.of(tolerance),
        groupSize: want.length,
        ...(rmsLimit !== undefined && { rmsLimit }),
      },
      Float64Array.from(got),
    ),
  );

describe('a wrong element', () => {
  it('is told with its error and by how much that exceeds the tolerance', () => {
    expect(describeOne([0, 1.56], [0, 1], 0.5)).toBe(
      'Y[1] = 1.56, wanted 1 ± 0.5 (off by 0.56, 12 % over its tolerance); 1 of 2 elements wrong',
    );
    expect(describeOne([2], [1], 0.25)).toContain('(off by 1, 4 times its tolerance)');
    expect(describeOne([1.0005], [1], 0.000499)).toContain('0.2 % over its tolerance');
  });

  it('is printed with enough digits to see the difference', () => {
    expect(describeOne([1234567.25], [1234567], 0.125)).toBe(
      'Y[0] = 1234567.25, wanted 1234567 ± 0.125 (off by 0.25, 2 times its tolerance); 1 of 1 elements wrong',
    );
    expect(describeOne([1 + 2 ** -40], [1], 0)).toContain('Y[0] = 1.00000000000091, wanted 1 ± 0 (off by 9.0949e-13)');
  });

  it('that is no number has no excess', () => {
    expect(describeOne([Number.NaN], [1], 0.1)).toBe('Y[0] = NaN, wanted 1 ± 0.1; 1 of 1 elements wrong');
  });
});

it('an RMS error is told beside its limit', () => {
  expect(describeOne([1, 1], [0, 0], 2, 0.25)).toMatch(/^RMS error of Y is 1, 4 times its limit of 0.25, though/);
});

it('a right output is described by nothing', () => expect(describeOne([1], [1], 0)).toBeUndefined());
