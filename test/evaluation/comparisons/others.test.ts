import { describe, expect, it } from 'vitest';
import { inProcess } from '../../../src/core/call-reference.ts';
import { compareOutput } from '../../../src/evaluation/compare.ts';
import { allclose } from '../../../src/evaluation/comparisons/allclose.ts';
import type { OutputFacts } from '../../../src/evaluation/comparisons/comparison.ts';
import { conditioned } from '../../../src/evaluation/comparisons/conditioned.ts';
import { exact } from '../../../src/evaluation/comparisons/exact.ts';
import { ulp } from '../../../src/evaluation/comparisons/ulp.ts';
import { prepareCheck } from '../../../src/evaluation/oracle.ts';
import { ulpAt, unitRoundoff } from '../../../src/evaluation/ulp.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const facts = (oracle: number[], magnitude: number[] = oracle): OutputFacts => ({
  output: 'Y',
  dtype: 'f32',
  shape: [oracle.length],
  dimensions: { N: 100 },
  oracle: Float64Array.from(oracle),
  rounded: Float64Array.from(oracle, Math.fround),
  magnitude: Float64Array.from(magnitude),
});

describe('ulpAt', () => {
  it.each([
    ['f16', 1, 2 ** -10],
    ['f16', -1.999, 2 ** -10],
    ['f16', 0, 2 ** -24], // the smallest subnormal
    ['f16', 2 ** -20, 2 ** -24],
    ['bf16', 256, 2],
    ['f32', 0.75, 2 ** -24],
    ['f64', 1, 2 ** -52],
    ['i32', 1e6, 1],
  ] as const)('%s at %d', (dtype, value, expected) => {
    expect(ulpAt(value, dtype)).toBe(expected);
  });

  it('is twice the unit roundoff at 1', () => {
    for (const dtype of ['f16', 'bf16', 'f32', 'f64'] as const) expect(ulpAt(1, dtype)).toBe(2 * unitRoundoff(dtype));
  });
});

it('exact wants the oracle rounded to the output’s dtype', () => {
  const expectation = exact.expect({ kind: 'exact' }, facts([0.1, 2]));
  expect([...expectation.want]).toEqual([Math.fround(0.1), 2]);
  expect([...expectation.tolerances]).toEqual([0]);
});

it('ulp allows so many units in the last place of each result', () => {
  const { tolerances } = ulp.expect({ kind: 'ulp', maximumUlps: 3 }, facts([1, 1024]));
  expect([...tolerances]).toEqual([3 * 2 ** -23, 3 * 2 ** -13]);
});

it('allclose allows atol + rtol · |want|, as torch and numpy do', () => {
  const rule = { kind: 'allclose', atol: 0.25, rtol: 0.5 } as const;
  const expectation = allclose.expect(rule, facts([8, -8, 0, Number.POSITIVE_INFINITY, Number.NaN]));
  const passes = (got: number[]) =>
    compareOutput({ name: 'Y', shape: [5] }, expectation, Float64Array.from(got)).passed;
  expect([...expectation.tolerances]).toEqual([4.25, 4.25, 0.25, 0, 0]);
  const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
  expect(passes([12.25, -12.25, 0.25, inf, nan])).toBe(true);
  expect(passes([12.26, -8, 0, inf, nan])).toBe(false);
  expect(passes([8, -8, nan, inf, nan])).toBe(false);
  expect(passes([8, -8, 0, 1e30, nan])).toBe(false);
  expect(passes([8, -8, 0, inf, 0])).toBe(false);
});

describe('conditioned', () => {
  it('allows c · ε · √n · Σ|x| and the rounding of the result', () => {
    const rule = { kind: 'conditioned', constant: 4, unit: 'f32', terms: 'N' } as const;
    const { tolerances } = conditioned.expect(rule, facts([1], [50]));
    expect(tolerances[0]).toBeCloseTo(4 * 2 ** -24 * 10 * 50 + 2 ** -24, 15);
  });

  it('takes Σ|x| from the reference on absolute values', async () => {
    const problem = {
      ...toyProblem({
        inputs: { X: { dtype: 'f32', shape: ['C'], access: 'in' } },
        outputs: { Y: { dtype: 'f32', shape: [1], access: 'out' } },
        comparison: { kind: 'conditioned', constant: 1, unit: 'f32', terms: 'C' },
      }),
      reference: inProcess(({ X }) => ({ Y: Float64Array.of(X!.reduce((a, b) => a + b, 0)) })),
    };
    const dimensions = { R: 1, C: 400 };
    const prepared = prepareCheck({ problem, dimensions, seed: 1, generatorSet: 'declared' });
    const sum = prepared.inputs.tensors.X!.reduce((total, x) => total + Math.abs(x), 0);
    const { tolerances, want } = (await prepared.expectations()).get('Y')!;
    expect(tolerances[0]).toBeCloseTo(2 ** -24 * 20 * sum + ulpAt(want[0]!, 'f32') / 2, 12);
  });
});
