import { describe, expect, it } from 'vitest';
import type { Dimensions } from '../../../src/core/problem.ts';
import { generatorSetNames } from '../../../src/evaluation/checks.ts';
import { compareOutput, type OutputVerdict } from '../../../src/evaluation/compare.ts';
import { calibrated } from '../../../src/evaluation/comparisons/calibrated.ts';
import type { OutputFacts } from '../../../src/evaluation/comparisons/comparison.ts';
import { prepareCheck } from '../../../src/evaluation/oracle.ts';
import { attentionProblem } from '../../support/attention-problem.ts';
import { type AttentionRounding, FP32, hostAttention } from '../../support/host-attention.ts';

const problem = attentionProblem();

const judge = async (rounding: AttentionRounding, dimensions: Dimensions, generatorSet: string, seed: number) => {
  const prepared = prepareCheck({ problem, dimensions, generatorSet, seed });
  const { shape } = prepared.buffers.find(({ name }) => name === 'O')!;
  const got = hostAttention(prepared.inputs.tensors, dimensions, rounding);
  return compareOutput({ name: 'O', shape }, (await prepared.expectations()).get('O')!, got);
};

const SHAPES: Dimensions[] = [
  { B: 1, H: 1, S: 1, D: 64, causal: 0 },
  { B: 1, H: 1, S: 2, D: 32, causal: 1 },
  { B: 2, H: 3, S: 17, D: 32, causal: 1 },
  { B: 1, H: 1, S: 113, D: 64, causal: 1 },
  { B: 1, H: 1, S: 130, D: 128, causal: 0 },
];

/** Half the limits: an honest kernel is not only passed, it is far from the edge for every seed. */
const isFarFromTheEdge = (verdict: OutputVerdict): boolean =>
  verdict.passed && verdict.worstErrorRatio < 0.5 && verdict.rmsErrorRatio < 0.5;

describe('honest attention', () => {
  const tensorCore = { ...FP32, weight: Math.f16round };
  for (const [name, rounding] of Object.entries({ 'in fp32': FP32, 'with weights in fp16': tensorCore })) {
    it(`${name} stays far below the limits on every shape, generator set and seed`, async () => {
      for (const dimensions of SHAPES) {
        for (const generatorSet of generatorSetNames(problem.file)) {
          for (let seed = 0; seed < 6; seed++) {
            const verdict = await judge(rounding, dimensions, generatorSet, seed);
            expect(isFarFromTheEdge(verdict), JSON.stringify({ dimensions, generatorSet, seed, verdict })).toBe(true);
          }
        }
      }
    });
  }
});

describe('low-precision accumulation', () => {
  const kernels: Record<string, AttentionRounding> = {
    'of P·V': { ...FP32, output: Math.f16round },
    'of the softmax sum': { ...FP32, weightSum: Math.f16round },
    'of Q·K': { ...FP32, score: Math.f16round },
  };
  for (const [name, rounding] of Object.entries(kernels)) {
    it(`${name} is caught at S = 239 for every seed`, async () => {
      for (let seed = 0; seed < 5; seed++) {
        const dimensions = { B: 1, H: 1, S: 239, D: 64, causal: 0 };
        expect((await judge(rounding, dimensions, 'normal', seed)).passed, `seed ${seed}`).toBe(false);
      }
    });
  }
});

describe('one wrong element', () => {
  it('of 3 tolerances is found, whatever the scale of the values', async () => {
    const dimensions = { B: 1, H: 1, S: 130, D: 64, causal: 0 };
    for (const scale of [1e-3, 1, 100]) {
      const scaled = attentionProblem({
        generatorSets: { scaled: { V: { kind: 'normal', standardDeviation: scale } } },
      });
      const prepared = prepareCheck({ problem: scaled, dimensions, generatorSet: 'scaled', seed: 1 });
      const expectation = (await prepared.expectations()).get('O')!;
      const got = expectation.want.map(Math.f16round);
      got[777] = got[777]! + 3 * expectation.tolerances[Math.floor(777 / expectation.groupSize)]!;
      const verdict = compareOutput({ name: 'O', shape: [1, 1, 130, 64] }, expectation, got);
      expect(verdict.firstWrong).toMatchObject({ index: [0, 0, 12, 9], wrongCount: 1 });
      // 3 tolerances are small against the values themselves: at most a few hundredths of their standard deviation.
      expect(expectation.tolerances[12]! / scale).toBeLessThan(0.002);
    }
  });
});

const facts = (
  oracle: number[],
  naive: number[],
  shape: number[],
  dtype: OutputFacts['dtype'] = 'f16',
): OutputFacts => ({
  output: 'Y',
  dtype,
  shape,
  dimensions: {},
  oracle: Float64Array.from(oracle),
  rounded: Float64Array.from(oracle, Math.f16round),
  naive: Float64Array.from(naive),
});
const expectFor = (these: OutputFacts, changes = {}) =>
  calibrated.expect({ kind: 'calibrated', storage: 'f16', accumulate: 'f32', ...changes }, these);

describe('the tolerance', () => {
  const rows = (first: number, second: number): number[] =>
    Array.from({ length: 128 }, (_, i) => (i < 64 ? first : second));

  it('is 2 × the naive error of the row, plus 2 ulp of its largest value', () => {
    // Row 0 is 1 (ulp 2^-10) with naive error 0.25; row 1 is 4 (ulp 2^-8) with none.
    const { tolerances, groupSize } = expectFor(facts(rows(1, 4), rows(1.25, 4), [2, 64]));
    expect(groupSize).toBe(64);
    expect([...tolerances]).toEqual([2 * 0.25 + 2 * 2 ** -10, 2 * 2 ** -8]);
  });

  it('takes factor, rmsFactor and group from problem.json', () => {
    const these = facts(rows(1, 4), rows(1.25, 4), [2, 64]);
    expect([...expectFor(these, { factor: 3, group: 'all' }).tolerances]).toEqual([3 * 0.25 + 2 * 2 ** -8]);
    // RMS(naive error) = √(½ · 0.25²); floor u · RMS(values) = 2^-11 · √(½ · (1 + 16)).
    expect(expectFor(these).rmsLimit).toBeCloseTo(Math.hypot(1.5 * 0.25 * Math.SQRT1_2, 2 ** -11 * Math.sqrt(8.5)), 12);
    expect(expectFor(these, { rmsFactor: 4 }).rmsLimit).toBeGreaterThan(expectFor(these).rmsLimit!);
  });

  it('pools short rows, the last ones with those before them', () => {
    const oracle = Array.from({ length: 100 }, () => 1);
    const naive = oracle.map((value, i) => (i === 60 ? 2 : value));
    const { tolerances, groupSize } = expectFor(facts(oracle, naive, [100, 1]));
    expect(groupSize).toBe(64);
    expect(tolerances[1]).toBe(tolerances[0]); // elements 64 … 99 are judged with 36 … 63
  });

  it('demands infinities where the result overflows the output, and NaN where it is NaN', () => {
    const these = facts([1e6, -1e6, Number.NaN, 1], [Infinity, -Infinity, Number.NaN, 1], [4]);
    const verdictOf = (got: number[]) =>
      compareOutput({ name: 'Y', shape: [4] }, expectFor(these), Float64Array.from(got));
    expect(verdictOf([Infinity, -Infinity, Number.NaN, 1]).passed).toBe(true);
    expect(verdictOf([65504, -Infinity, Number.NaN, 1]).passed).toBe(false);
    expect(verdictOf([-Infinity, -Infinity, Number.NaN, 1]).passed).toBe(false);
    expect(verdictOf([Infinity, -Infinity, 0, 1]).passed).toBe(false);
  });

  it('cannot be set by a naive run that overflows', () => {
    expect(() => expectFor(facts([1, 2], [1, Infinity], [2]))).toThrow(/naive run.*overflows/);
  });

  it.each(['f32', 'f64', 'i32'] as const)(
    'cannot be set in %s, which is no narrower than the accumulator',
    (storage) => {
      expect(() => expectFor(facts([1], [1], [1]), { storage })).toThrow(/narrower than its accumulator/);
    },
  );

  it('is zero for outputs of integers', () => {
    expect([...expectFor(facts([1, 2], [5, 5], [2], 'i32')).tolerances]).toEqual([0]);
  });
});
