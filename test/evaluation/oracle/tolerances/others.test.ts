import { describe, expect, it } from 'vitest';
import { inProcess } from '../../../../src/core/call-reference.ts';
import type { BufferDeclaration, Problem, ReferenceFunction } from '../../../../src/core/problem.ts';
import { compareOutput } from '../../../../src/evaluation/oracle/compare.ts';
import { prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { allclose } from '../../../../src/evaluation/oracle/tolerances/allclose.ts';
import { conditioned } from '../../../../src/evaluation/oracle/tolerances/conditioned.ts';
import { exact } from '../../../../src/evaluation/oracle/tolerances/exact.ts';
import type { OutputFacts } from '../../../../src/evaluation/oracle/tolerances/tolerance.ts';
import { ulp } from '../../../../src/evaluation/oracle/tolerances/ulp.ts';
import { ulpAt, unitRoundoff } from '../../../../src/evaluation/oracle/ulp.ts';
import { mulberry32 } from '../../../../src/stats/random.ts';
import { toyProblem } from '../../../support/toy-problem.ts';

const RELATIVE = 2 ** -20;

/** `changes`: what each perturbed run adds to the oracle, ÷ the perturbation. */
const facts = (oracle: number[], ...changes: number[][]): OutputFacts => ({
  output: 'Y',
  dtype: 'f32',
  shape: [oracle.length],
  dimensions: { N: 100 },
  oracle: Float64Array.from(oracle),
  rounded: Float64Array.from(oracle, Math.fround),
  perturbed: changes.map((change) => ({
    relative: RELATIVE,
    values: Float64Array.from(oracle, (value, i) => value + RELATIVE * change[i]!),
  })),
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

it('ulp allows √terms units more for sums', () => {
  const { tolerances } = ulp.expect({ kind: 'ulp', maximumUlps: 3, terms: 'N' }, facts([1, 1024]));
  expect([...tolerances]).toEqual([13 * 2 ** -23, 13 * 2 ** -13]);
  const repeated = ulp.expect({ kind: 'ulp', maximumUlps: 3, terms: 'N' }, { ...facts([1]), repeats: true });
  expect([...repeated.tolerances]).toEqual([103 * 2 ** -23]);
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
  const rule = { kind: 'conditioned', constant: 4, unit: 'f32', terms: 'N' } as const;

  it('allows c · ε · √n · (|y| + 3 · condition) and the rounding of the result', () => {
    // The condition is the root of the mean square of what the runs changed: √((3² + 1²) ÷ 2).
    const { tolerances } = conditioned.expect(rule, facts([2], [3], [-1]));
    const lost = 0.05 * (100 * 2 ** -24) ** 1.5 * 2;
    expect(tolerances[0]).toBeCloseTo(4 * 2 ** -24 * 10 * (2 + 3 * Math.sqrt(5)) + lost + 2 ** -23, 15);
  });

  it.each([1000, 100_000, 1_000_000])(
    'bears what a serial sum of %i squares loses in fp32, and no missing term',
    (n) => {
      const uniform = mulberry32(1);
      const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
      const squares = Float64Array.from({ length: n }, () => Math.fround(normal()) ** 2);
      const exactSum = squares.reduce((sum, square) => sum + square, 0);
      const serial = squares.reduce((sum, square) => Math.fround(sum + square), 0);
      // Each input changed by √2 of 2⁻²⁰ of itself, in the mean: the root of the sum of the squared derivatives.
      const change = Math.sqrt(squares.reduce((sum, square) => sum + (2 * square) ** 2, 0));
      const { tolerances } = conditioned.expect(
        { ...rule, constant: 2, terms: String(n) },
        facts([exactSum], [change]),
      );
      expect(Math.abs(serial - exactSum)).toBeLessThan(tolerances[0]!);
      // One of a thousand terms, but at least one.
      expect(tolerances[0]!).toBeLessThan(exactSum / 500);
    },
  );

  it('grants every element half of what its neighbours have: samples are sometimes small by luck', () => {
    const { tolerances } = conditioned.expect(rule, facts([0, 0, 0], [7, 7, 0]));
    expect(tolerances[2]! / tolerances[0]!).toBeCloseTo(1 / 2, 6);
  });

  it('grants it where most of the neighbours are infinite, too', () => {
    const oracle = Array.from({ length: 64 }, (_, i) => (i < 23 ? 1 : Number.POSITIVE_INFINITY));
    const changes = oracle.map((value, i) => (value === 1 && i > 0 ? 8 : 0));
    const { tolerances } = conditioned.expect(rule, facts(oracle, changes));
    expect(tolerances[0]).toBeGreaterThan(tolerances[1]! / 3);
  });

  it('allows twice what the naive run loses in the row, where problem.json names roundings', () => {
    const shape = [2, 256];
    const oracle = new Array<number>(512).fill(1);
    const naive = Float64Array.from(oracle, (value, i) => value + (i === 300 ? 2 ** -10 : 0));
    const many = {
      ...facts(
        oracle,
        oracle.map(() => 0),
      ),
      shape,
      naive,
    };
    const without = conditioned.expect(rule, many).tolerances;
    const { tolerances } = conditioned.expect({ ...rule, roundings: { P: 'f32' } }, many);
    expect(tolerances[0]).toBe(without[0]);
    expect([tolerances[256], tolerances[511]]).toEqual([without[256]! + 2 ** -9, without[511]! + 2 ** -9]);
    expect(conditioned.needs({ ...rule, roundings: { P: 'f32' } }).naive).toBe(true);
    expect(conditioned.needs(rule).naive).toBe(false);
    const overflowing = { ...many, naive: naive.fill(Number.POSITIVE_INFINITY, 0, 1) };
    expect(() => conditioned.expect({ ...rule, roundings: { P: 'f32' } }, overflowing)).toThrow(/overflows/);
  });

  it('does not grant it for one ill-conditioned element among them', () => {
    const { tolerances } = conditioned.expect(rule, facts([0, 0, 0], [1e9, 1, 1]));
    expect(tolerances[2]! / tolerances[0]!).toBeCloseTo(1e-9, 12);
  });

  it('allows as many of the smallest subnormals as operations may round to', () => {
    const tiny = conditioned.expect(rule, facts([2 ** -140], [0]));
    expect(tiny.tolerances[0]! / 2 ** -149).toBeCloseTo(4 * 10 + 1 / 2, 1);
  });

  it('compares integers exactly, and wants infinities where the result overflows', () => {
    expect([...conditioned.expect(rule, { ...facts([5], [1]), dtype: 'i32' }).tolerances]).toEqual([0]);
    const overflowing = facts([1e39, 1], [1e39, 1]);
    expect([...conditioned.expect(rule, overflowing).want]).toEqual([Number.POSITIVE_INFINITY, 1]);
  });

  it('cannot be set where perturbed inputs give no number', () => {
    expect(() => conditioned.expect(rule, facts([1], [Number.NaN]))).toThrow(/changed by a millionth.*NaN/);
  });

  const sums = (X: BufferDeclaration, reference: ReferenceFunction): Problem => ({
    ...toyProblem({
      inputs: { X },
      outputs: { Y: { dtype: 'f32', shape: [1], access: 'out' } },
      comparison: { kind: 'conditioned', constant: 1, unit: 'f32', terms: 'C' },
    }),
    reference: inProcess(reference),
  });
  const toleranceOf = async (problem: Problem, C: number): Promise<number> => {
    const prepared = prepareCheck({ problem, dimensions: { R: 1, C }, seed: 1, generatorSet: 'declared' });
    return (await prepared.expectations()).get('Y')!.tolerances[0]!;
  };

  it('takes for a sum the root of the sum of the squared terms', async () => {
    const X: BufferDeclaration = { dtype: 'f32', shape: ['C'], access: 'in' };
    const total = sums(X, (inputs) => ({ Y: Float64Array.of(inputs.X!.reduce((a, b) => a + b, 0)) }));
    // Normal inputs: √Σx² = √C. Four runs estimate it within a factor of 2.
    const condition = (await toleranceOf(total, 40_000)) / (2 ** -24 * 200 * 3);
    expect(condition).toBeGreaterThan(100);
    expect(condition).toBeLessThan(700);
  });

  it('stays as large as what was subtracted where a difference cancels', async () => {
    // Two inputs, alike but for 1e-6: |x| − |y| says nothing of what rounding x, or y, does to the difference.
    const X: BufferDeclaration = {
      dtype: 'f32',
      shape: ['C'],
      access: 'in',
      generator: { kind: 'constant', value: 1000 },
    };
    const difference = sums(X, ({ X: x }) => ({ Y: Float64Array.of(x![0]! * 1.000001 - x![1]!) }));
    expect(await toleranceOf(difference, 2)).toBeGreaterThan(2 ** -24 * 1000);
  });
});
