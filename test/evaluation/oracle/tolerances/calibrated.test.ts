import { describe, expect, it } from 'vitest';
import type { Dimensions } from '../../../../src/core/problem.ts';
import { generatorSetNames } from '../../../../src/evaluation/oracle/checks/listed.ts';
import { compareOutput, type OutputVerdict } from '../../../../src/evaluation/oracle/compare.ts';
import { prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { calibrated } from '../../../../src/evaluation/oracle/tolerances/calibrated.ts';
import type { OutputFacts } from '../../../../src/evaluation/oracle/tolerances/tolerance.ts';
import { attentionProblem, attentionShape } from '../../../support/attention-problem.ts';
import { type AttentionRounding, FP32, hostAttention } from '../../../support/host-attention.ts';
import { sampled } from '../../../support/sampling/matrix.ts';

const problem = attentionProblem();

const judge = async (rounding: AttentionRounding, dimensions: Dimensions, generatorSet: string, seed: number) => {
  const prepared = prepareCheck({ problem, dimensions, generatorSet, seed });
  const { shape } = prepared.buffers.find(({ name }) => name === 'O')!;
  const got = hostAttention(prepared.inputs.tensors, dimensions, rounding);
  return compareOutput({ name: 'O', shape }, (await prepared.expectations()).get('O')!, got);
};

const SHAPES: Dimensions[] = [
  attentionShape({ B: 1, H: 1, S: 1, D: 64, causal: 0 }),
  attentionShape({ B: 1, H: 1, S: 2, D: 32, causal: 1 }),
  attentionShape({ B: 2, H: 3, S: 17, D: 32, causal: 1 }),
  attentionShape({ B: 1, H: 1, S: 113, D: 64, causal: 1 }),
  attentionShape({ B: 1, H: 1, S: 130, D: 128, causal: 0 }),
];

/** Far from the edge: an honest kernel is not only passed for every seed. */
const isFarFromTheEdge = (verdict: OutputVerdict): boolean =>
  verdict.passed && verdict.worstErrorRatio < 0.75 && verdict.rmsErrorRatio < 0.75;

describe('honest attention', () => {
  const tensorCore = { ...FP32, weight: Math.f16round };
  for (const [name, rounding] of Object.entries({ 'in fp32': FP32, 'with weights in fp16': tensorCore })) {
    sampled(`honest attention ${name}`, SHAPES, { oneIn: SHAPES.length })(
      `${name} stays far below the limits for every generator set and seed on %j`,
      async (dimensions) => {
        for (const generatorSet of generatorSetNames(problem.file)) {
          for (let seed = 0; seed < 6; seed++) {
            const verdict = await judge(rounding, dimensions, generatorSet, seed);
            expect(isFarFromTheEdge(verdict), JSON.stringify({ dimensions, generatorSet, seed, verdict })).toBe(true);
          }
        }
      },
    );
  }
});

describe('low-precision accumulation', () => {
  const kernels: Record<string, AttentionRounding> = {
    'of P·V': { ...FP32, output: Math.f16round },
    'of the softmax sum': { ...FP32, weightSum: Math.f16round },
    'of Q·K': { ...FP32, score: Math.f16round },
  };
  sampled('low-precision accumulation', Object.entries(kernels), { oneIn: 3 })(
    '%s is caught at S = 239 for every seed',
    async (_name, rounding) => {
      for (let seed = 0; seed < 5; seed++) {
        const dimensions = attentionShape({ B: 1, H: 1, S: 239, D: 64, causal: 0 });
        expect((await judge(rounding, dimensions, 'normal', seed)).passed, `seed ${seed}`).toBe(false);
      }
    },
  );
});

describe('one rounding of a whole row, and that of the result', () => {
  // Weights relative to 0, not to their maximum: the only weight of a causal row 0 is not 1.
  const judgeRows = (rows: number, { condition = 1, error = 1.1 } = {}) => {
    const row = Float64Array.from({ length: 64 }, (_, i) => 1 + (i % 32) / 32 + 2 ** -11.01);
    const oracle = Float64Array.from({ length: rows * 64 }, (_, i) => row[i % 64]!);
    const shape = [rows, 64];
    const facts = {
      output: 'O',
      dtype: 'f16',
      shape,
      dimensions: {},
      oracle,
      rounded: oracle.map(Math.f16round),
      perturbed: [{ relative: 2 ** -20, values: oracle.map((value) => value * (1 + condition * 2 ** -20)) }],
    } as const;
    const expectation = calibrated.expect({ kind: 'calibrated', storage: 'f16', accumulate: 'f32' }, facts as never);
    return compareOutput(
      { name: 'O', shape },
      expectation,
      oracle.map((value) => value * (1 + error * 2 ** -11)),
    );
  };

  it('passes where the sum of squares is that of one row', () => {
    expect(judgeRows(1)).toMatchObject({ passed: true, rmsErrorRatio: expect.closeTo(1.1 / Math.sqrt(12 / 7), 2) });
  });

  it('passes where the terms of one row nearly cancel, up to twice a rounding', () => {
    const cancelled = { condition: 4, error: 1.4 };
    expect(judgeRows(1, { ...cancelled, condition: 1 }).passed).toBe(false);
    expect(judgeRows(1, cancelled)).toMatchObject({ passed: true, rmsErrorRatio: expect.closeTo(0.7, 2) });
    expect(judgeRows(64, cancelled).passed).toBe(false);
  });

  it('fails where so many rows cannot all err alike by chance', () => {
    expect(judgeRows(64)).toMatchObject({ passed: false, rmsErrorRatio: expect.closeTo(1.1, 2) });
  });
});

describe('one wrong element', () => {
  it('of 3 tolerances is found, whatever the scale of the values', async () => {
    const dimensions = attentionShape({ B: 1, H: 1, S: 130, D: 64, causal: 0 });
    for (const scale of [1e-3, 1, 100]) {
      const scaled = attentionProblem({
        generatorSets: { scaled: { V: { kind: 'normal', standardDeviation: scale } } },
      });
      const prepared = prepareCheck({ problem: scaled, dimensions, generatorSet: 'scaled', seed: 1 });
      const expectation = (await prepared.expectations()).get('O')!;
      const got = expectation.want.map(Math.f16round);
      got[777] = got[777]! + 3 * expectation.tolerances[777]!;
      const verdict = compareOutput({ name: 'O', shape: [1, 1, 130, 64] }, expectation, got);
      expect(verdict.firstWrong).toMatchObject({ index: [0, 0, 12, 9], wrongCount: 1 });
      // 3 tolerances are small against the values themselves: at most a few hundredths of their standard deviation.
      expect(expectation.tolerances[777]! / scale).toBeLessThan(0.002);
    }
  });
});

/** `condition`: what a perturbed run changes, ÷ the perturbation. */
const facts = (
  oracle: number[],
  naive: number[] | undefined,
  shape: number[],
  { dtype = 'f16', condition = 0 }: { dtype?: OutputFacts['dtype']; condition?: number } = {},
): OutputFacts => ({
  output: 'Y',
  dtype,
  shape,
  dimensions: { N: 64 },
  oracle: Float64Array.from(oracle),
  rounded: Float64Array.from(oracle, Math.f16round),
  ...(naive && { naive: Float64Array.from(naive) }),
  perturbed: [{ relative: 2 ** -20, values: Float64Array.from(oracle, (value) => value + condition * 2 ** -20) }],
});
const expectFor = (these: OutputFacts, changes = {}) =>
  calibrated.expect({ kind: 'calibrated', storage: 'f16', accumulate: 'f32', ...changes }, these);
/** √256 · 2^-24: what fp32 arithmetic may do to a result, relative to it. */
const ARITHMETIC = 2 ** -20;

describe('the tolerance', () => {
  const rows = (first: number, second: number): number[] =>
    Array.from({ length: 128 }, (_, i) => (i < 64 ? first : second));

  it('is 2 ulp of the largest value of the row, plus what fp32 arithmetic does to the element', () => {
    // Row 0 is 1 (ulp 2^-10); row 1 is 4 (ulp 2^-8).
    const { tolerances } = expectFor(facts(rows(1, 4), undefined, [2, 64]));
    expect(tolerances[0]).toBeCloseTo(2 * 2 ** -10 + ARITHMETIC, 12);
    expect(tolerances[127]).toBeCloseTo(2 * 2 ** -8 + 4 * ARITHMETIC, 12);
  });

  it('counts the rounding of the result where an allowed error leads beyond a power of two', () => {
    const [below, farther] = [1.9999, 2 - 1.75 * 2 ** -7];
    const these: OutputFacts = { ...facts(rows(below, farther), undefined, [2, 64]), dtype: 'bf16' };
    const { tolerances } = expectFor(these, { storage: 'bf16' });
    expect(tolerances[0]).toBeCloseTo(2.5 * 2 ** -7, 4);
    expect(tolerances[127]).toBeCloseTo(2 * 2 ** -7, 4);
    // bf16's neighbours of 2.
    expect(tolerances[0]).toBeGreaterThan(2.015625 - below);
    expect(tolerances[0]).toBeLessThan(2.03125 - below);
  });

  it('grows with the condition of the element, and with the terms behind it', () => {
    const these = facts(rows(1, 1), undefined, [2, 64], { condition: 1000 });
    expect(expectFor(these).tolerances[0]).toBeCloseTo(2 ** -9 + ARITHMETIC * (1 + 3 * 1000), 9);
    expect(expectFor(these, { terms: 'N' }).tolerances[0]).toBeCloseTo(2 ** -9 + (ARITHMETIC / 2) * (1 + 3 * 1000), 9);
  });

  it('allows what named roundings do, twice, row by row; factor, rmsFactor and group come from problem.json', () => {
    const these = facts(rows(1, 4), rows(1.25, 4), [2, 64]);
    const roundings = { P: 'f16' };
    const [first, second] = [2 ** -9 + ARITHMETIC, 2 ** -7 + 4 * ARITHMETIC];
    const { tolerances } = expectFor(these, { roundings });
    expect(tolerances[0]).toBeCloseTo(2 * 0.25 + first, 12);
    expect(tolerances[127]).toBeCloseTo(second, 12);
    expect(expectFor(these, { roundings, factor: 3, group: 'all' }).tolerances[127]).toBeCloseTo(3 * 0.25 + second, 12);
    // Floor ru · RMS(values) = r · 2^-11 · √(½ · (1 + 16)), for two rows; RMS(naive error) = √(½ · 0.25²).
    // The sums of squares, 1 and 16, are as unequal as those of 17² ÷ 257 = 1.12 equal ones.
    const square = 2 / 3 + 3.5 * Math.sqrt(4 / 45 / (17 ** 2 / 257));
    const floor = 2 ** -11 * Math.sqrt(square * 8.5);
    const naive = 0.25 * Math.SQRT1_2;
    expect(expectFor(these, { roundings }).rmsLimit).toBeCloseTo(Math.hypot(floor, 1.5 * naive), 6);
    expect(expectFor(these, { roundings, rmsFactor: 4 }).rmsLimit).toBeCloseTo(Math.hypot(floor, 4 * naive), 6);
    expect(expectFor(facts(rows(1, 4), undefined, [2, 64])).rmsLimit).toBeCloseTo(floor, 6);
  });

  it('is ½ ulp of the element itself, plus arithmetic, where nothing but the result may be rounded', () => {
    const value = 1 + 2 ** -13;
    const { tolerances, rmsLimit } = expectFor(facts(rows(value, 4), undefined, [2, 64]), { roundings: {} });
    expect(tolerances[0]).toBeCloseTo(2 ** -11 + ARITHMETIC, 9);
    expect(tolerances[127]).toBeCloseTo(2 ** -9 + 4 * ARITHMETIC, 9);
    // Half of the elements are rounded by 2^-13, the others not at all.
    expect(rmsLimit).toBeCloseTo(1.1 * 2 ** -13 * Math.SQRT1_2, 5);
  });

  it('pools short rows, the last ones with those before them', () => {
    const oracle = Array.from({ length: 100 }, (_, i) => (i === 60 ? 1024 : 1));
    const { tolerances } = expectFor(facts(oracle, undefined, [100, 1]));
    // Elements 64 … 99 are judged with 36 … 63.
    expect(tolerances[99]).toBeCloseTo(2 + ARITHMETIC, 9);
  });

  it('demands infinities where the result overflows the output, and NaN where it is NaN', () => {
    const these = facts([1e6, -1e6, Number.NaN, 1], undefined, [4]);
    for (const roundings of [undefined, {}]) {
      const expectation = expectFor(these, roundings && { roundings });
      const verdictOf = (got: number[]) =>
        compareOutput({ name: 'Y', shape: [4] }, expectation, Float64Array.from(got));
      expect(verdictOf([Infinity, -Infinity, Number.NaN, 1]).passed).toBe(true);
      expect(verdictOf([65504, -Infinity, Number.NaN, 1]).passed).toBe(false);
      expect(verdictOf([-Infinity, -Infinity, Number.NaN, 1]).passed).toBe(false);
      expect(verdictOf([Infinity, -Infinity, 0, 1]).passed).toBe(false);
    }
  });

  it('cannot be set by a naive run that overflows', () => {
    expect(() => expectFor(facts([1, 2], [1, Infinity], [2]), { roundings: { P: 'f16' } })).toThrow(
      /naive run.*overflows/,
    );
  });

  it.each(['f32', 'f64', 'i32'] as const)(
    'cannot be set in %s, which is no narrower than the accumulator',
    (storage) => {
      expect(() => expectFor(facts([1], undefined, [1]), { storage })).toThrow(/narrower than its accumulator/);
    },
  );

  it('is zero for outputs of integers', () => {
    expect([...expectFor(facts([1, 2], undefined, [2], { dtype: 'i32' })).tolerances]).toEqual([0]);
  });
});
