import { describe, expect, it } from 'vitest';
import type { ObservedDecision, OperandPair } from '../../../src/core/decisions.ts';
import type { DType } from '../../../src/core/dtype.ts';
import { encode } from '../../../src/core/rounding.ts';
import type { AssignedValue } from '../../../src/evaluation/oracle/mutated-inputs.ts';
import { type DescentInput, descend } from '../../../src/evaluation/verify/descend.ts';
import { distancesTo } from '../../../src/evaluation/verify/distance-to-way.ts';

const VALUES: Partial<Record<DType, readonly number[]>> = {
  i32: [1_204_777, -88_123_001, 1_999_123_456, -1_731_004_999, 54, 700_111_222, -2_000_111_222, 13],
  u8: [17, 4, 201, 99, 54, 3, 250, 128],
  f32: [0.5, -1.25, 0.75, 2, -0.125, 1.5, -3, 0.0625],
};

const inputOf = (dtype: DType, most: number): DescentInput => ({
  ...{ place: 0, dtype, values: VALUES[dtype]!, others: VALUES[dtype]!.map((value) => Math.trunc(value / 2) + 7) },
  takes: (value) => Math.abs(value) <= most && (dtype !== 'u8' || value >= 0),
});

const decisionOf = (more: Partial<ObservedDecision>): ObservedDecision => ({
  ...{ kind: 'comparison', comparison: 'eq', constant: undefined, isFloat: false, calledFrom: [], isInherited: false },
  ...{
    place: { file: 'kernel.cu', line: 1 },
    wasTrue: false,
    wasFalse: true,
    isSettled: false,
    dependsOn: 'values',
    isPart: false,
    isOfSelections: false,
    isLoopTest: false,
  },
  ...more,
});

const wordOf = (value: number): bigint => BigInt(value >>> 0);

const bitsOf = (value: number): bigint => BigInt(new Uint32Array(encode(Float64Array.of(value), 'f32').buffer)[0]!);

interface Searched {
  readonly decision: ObservedDecision;
  readonly type: string;
  readonly input: DescentInput;
  readonly pairsOf: (values: readonly number[]) => OperandPair[];
}

/** What is found, as the values of the input; and how often was compared. */
async function search({ decision, type, input, pairsOf }: Searched) {
  let runs = 0;
  const withValues = (assigned: readonly AssignedValue[]): number[] => {
    const values = [...VALUES[input.dtype]!];
    for (const { element, value } of assigned) values[element] = value;
    return values;
  };
  const found = await descend({
    inputs: [input],
    distances: distancesTo(decision, type, !decision.wasTrue),
    mostRuns: 400,
    compare: async (assigned) => {
      runs += 1;
      return pairsOf(withValues(assigned));
    },
  });
  return { values: found && withValues(found), changed: found?.length, runs };
}

const popCount = (bits: number): number => [...(bits >>> 0).toString(2)].filter((bit) => bit === '1').length;

const WHOLE = 2 ** 31 - 1;

const sums = (values: readonly number[]): number[] =>
  values.map((_, i) => values.slice(0, i + 1).reduce((a, b) => (a + b) | 0, 0));

describe('values with which a decision goes the other way', () => {
  it('are found for a sum that must be one number of 2³²', async () => {
    const pairsOf = (values: readonly number[]) => sums(values).map((sum) => ({ a: wordOf(sum), b: 0x5a5a5a5an }));
    const { values, changed } = await search({
      decision: decisionOf({}),
      type: 'b32',
      input: inputOf('i32', WHOLE),
      pairsOf,
    });
    expect(sums(values!)).toContain(0x5a5a5a5a);
    expect(changed).toBe(1);
  });

  it('are found for a product with an odd number', async () => {
    const hash = (value: number): number => (Math.imul(value, 2654435761) + 12345) >>> 0;
    const pairsOf = (values: readonly number[]) => values.map((value) => ({ a: wordOf(hash(value)), b: 123456789n }));
    const { values } = await search({ decision: decisionOf({}), type: 'u32', input: inputOf('i32', 2 ** 31), pairsOf });
    expect(values!.map(hash)).toContain(123456789);
  });

  it('are found for a number of bits', async () => {
    const pairsOf = (values: readonly number[]) =>
      values.map((value) => ({ a: BigInt(popCount(value ^ 0x1234_5678)), b: 0n }));
    const { values } = await search({ decision: decisionOf({}), type: 'u32', input: inputOf('i32', WHOLE), pairsOf });
    expect(values).toContain(0x1234_5678);
  });

  it('are found for a word that four bytes make up', async () => {
    const words = (values: readonly number[]): number[] =>
      [0, 4].map((at) => values.slice(at, at + 4).reduceRight((word, byte) => word * 256 + byte, 0));
    const pairsOf = (values: readonly number[]) => words(values).map((word) => ({ a: wordOf(word), b: 0x474e5089n }));
    const { values, changed } = await search({
      decision: decisionOf({}),
      type: 'u32',
      input: inputOf('u8', 255),
      pairsOf,
    });
    expect(words(values!)).toContain(0x474e5089);
    expect(changed).toBeLessThanOrEqual(4);
  });

  it('are found for a sum of squares beyond a bound, and are no larger than they may be', async () => {
    const pairsOf = (values: readonly number[]) => [
      { a: bitsOf(values.reduce((sum, value) => sum + value * value, 0)), b: bitsOf(1e6) },
    ];
    const decision = decisionOf({ comparison: 'gtu', isFloat: true });
    const { values } = await search({ decision, type: 'f32', input: inputOf('f32', 2048), pairsOf });
    expect(Math.max(...values!.map(Math.abs))).toBeGreaterThan(990);
    expect((await search({ decision, type: 'f32', input: inputOf('f32', 100), pairsOf })).values).toBeUndefined();
  });

  it('are found for a bound that never applied', async () => {
    const pairsOf = (values: readonly number[]) => values.map((value) => ({ a: bitsOf(value), b: bitsOf(600) }));
    const decision = decisionOf({ kind: 'bound', comparison: 'min', constant: 600, isFloat: true });
    const { values } = await search({ decision, type: 'f32', input: inputOf('f32', 4096), pairsOf });
    expect(Math.max(...values!)).toBeGreaterThanOrEqual(600);
  });

  it('are not found where nothing depends on the input, which takes a few runs', async () => {
    const pairsOf = () => [{ a: 1n, b: 2n }];
    const { values, runs } = await search({
      decision: decisionOf({}),
      type: 'u32',
      input: inputOf('i32', WHOLE),
      pairsOf,
    });
    expect(values).toBeUndefined();
    expect(runs).toBeLessThan(10);
  });
});

describe('how far operands are from a way', () => {
  const far = (more: Partial<ObservedDecision>, type: string, way: boolean, a: bigint, b: bigint): bigint | undefined =>
    distancesTo(decisionOf(more), type, way)[0]?.({ a, b });

  it('counts the steps between numbers of the type', () => {
    expect(far({ comparison: 'lt' }, 's32', true, wordOf(7), wordOf(-1))).toBe(9n);
    expect(far({ comparison: 'lo' }, 'u32', true, wordOf(7), wordOf(-1))).toBe(0n);
    expect(far({ comparison: 'ge' }, 's32', false, wordOf(5), wordOf(5))).toBe(1n);
    expect(far({ comparison: 'gt' }, 'f32', true, bitsOf(-1), bitsOf(1))).toBe(2n * bitsOf(1) + 1n);
    expect(far({ comparison: 'ne' }, 'u32', false, 3n, 8n)).toBe(5n);
  });

  it('is nothing of NaN and of combinations', () => {
    expect(far({ comparison: 'ltu' }, 'f32', true, bitsOf(Number.NaN), bitsOf(1))).toBeUndefined();
    expect(distancesTo(decisionOf({ kind: 'combination', comparison: 'and' }), 'pred', true)).toEqual([]);
  });
});
