import { describe, expect, it } from 'vitest';
import { DTYPES, type DType } from '../../../src/core/dtype.ts';
import { encode } from '../../../src/core/rounding.ts';
import { choosableInputs } from '../../../src/evaluation/oracle/secret/choosable-inputs.ts';
import { type ChoosableInput, solveEqualities } from '../../../src/evaluation/oracle/solve-equalities.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const input = (dtype: DType, values: number[], more: Partial<ChoosableInput> = {}): ChoosableInput => ({
  ...{ place: 0, dtype, bytes: encode(values, dtype), longestRepeated: Number.POSITIVE_INFINITY, takes: () => true },
  ...more,
});

const bitsOf = (value: number, dtype: DType): bigint =>
  [...encode([value], dtype)].reduceRight((bits, byte) => (bits << 8n) | BigInt(byte), 0n);

const pairsOf = (dtype: DType, ...pairs: [number, number][]) =>
  pairs.map(([a, b]) => ({ a: bitsOf(a, dtype), b: bitsOf(b, dtype) }));

/** The input's values with what was assigned. */
function solved(values: number[], assigned: readonly { element: number; value: number }[]): number[] {
  const result = [...values];
  for (const { element, value } of assigned) result[element] = value;
  return result;
}

const VALUES = [0.5, 1.25, -3, 7, 0.75, 11];

describe('what comparisons found unequal', () => {
  it('becomes equal: values that are compared, in chains, too', () => {
    const comparison = { type: 'f32', constant: undefined, pairs: pairsOf('f32', [0.5, 7], [-3, 0.5]) };
    const after = solved(VALUES, solveEqualities([comparison], [input('f32', VALUES)]));
    expect(new Set([after[0], after[2], after[3]]).size).toBe(1);
    expect([after[1], after[4], after[5]]).toEqual([1.25, 0.75, 11]);
  });

  it('becomes the constant that it is compared with, on either side', () => {
    const comparison = { type: 'f32', constant: 1, pairs: pairsOf('f32', [0.5, 1], [1, 11]) };
    expect(solved(VALUES, solveEqualities([comparison], [input('f32', VALUES)]))).toEqual([1, 1.25, -3, 7, 0.75, 1]);
  });

  it('becomes what was computed and is no value of the input', () => {
    const comparison = { type: 'f32', constant: undefined, pairs: pairsOf('f32', [1.25, 1], [0.75, 0]) };
    expect(solved(VALUES, solveEqualities([comparison], [input('f32', VALUES)]))).toEqual([0.5, 1, -3, 7, 0, 11]);
  });

  it('is found in inputs of 16 bits that were compared as fp32', () => {
    const comparison = { type: 'f32', constant: 2, pairs: pairsOf('f32', [-3, 2]) };
    expect(solveEqualities([comparison], [input('f16', VALUES)])).toEqual([{ input: 0, element: 2, value: 2 }]);
  });

  it('is found where bits of floating-point values, or four bytes, were compared as a word', () => {
    const word = { type: 'b32', constant: undefined, pairs: [{ a: bitsOf(7, 'f32'), b: bitsOf(8, 'f32') }] };
    expect(solveEqualities([word], [input('f32', VALUES)])).toEqual([{ input: 0, element: 3, value: 8 }]);
    const bytes = [9, 9, 9, 9, 1, 2, 3, 4, 9, 9];
    const signature = { type: 'u32', constant: undefined, pairs: [{ a: 0x04030201n, b: 0x474e5089n }] };
    expect(solved(bytes, solveEqualities([signature], [input('u8', bytes)]))).toEqual([
      ...[9, 9, 9, 9, 0x89, 0x50, 0x4e, 0x47, 9, 9],
    ]);
  });

  it('is looked for in the smallest input that has nearly all of it', () => {
    const small = input('f32', [0.5, 7], { place: 1 });
    const comparison = { type: 'f32', constant: 0, pairs: pairsOf('f32', [0.5, 0], [7, 0]) };
    expect(solveEqualities([comparison], [input('f32', VALUES), small]).every((one) => one.input === 1)).toBe(true);
  });

  it('stays where too many values would be the same, or nothing is found', () => {
    const many = Array.from({ length: 20 }, (_, i) => i + 1);
    const comparison = {
      type: 'f32',
      constant: 0,
      pairs: pairsOf('f32', ...many.map((one): [number, number] => [one, 0])),
    };
    expect(solveEqualities([comparison], [input('f32', many, { longestRepeated: 0 })])).toEqual([]);
    expect(solveEqualities([comparison], [input('f32', many, { longestRepeated: 20 })])).toHaveLength(20);
    expect(solveEqualities([comparison], [input('f32', [100, 200])])).toEqual([]);
  });

  it('stays where the input takes no such value', () => {
    const comparison = { type: 'f32', constant: -1, pairs: pairsOf('f32', [0.5, -1]) };
    expect(solveEqualities([comparison], [input('f32', VALUES, { takes: (value) => value > 0 })])).toEqual([]);
  });

  it.each(DTYPES)('is none of NaN in %s', (dtype) => {
    const nan = { type: 'f32', constant: undefined, pairs: [{ a: 0x7fc00000n, b: 0x3f800000n }] };
    expect(solveEqualities([nan], [input(dtype, [1, 2, 3, 4])]).filter(({ value }) => Number.isNaN(value))).toEqual([]);
  });
});

it('inputs take values of a sign that they have, whole numbers within those drawn, and infinities of their domain', () => {
  const { file } = toyProblem({
    inputs: {
      X: { dtype: 'f32', shape: ['R', 'C'], access: 'in', domain: ['-infinity'] },
      W: { dtype: 'f32', shape: ['R'], access: 'in', generator: { kind: 'positive' } },
      indices: { dtype: 'i32', shape: ['R'], access: 'in', generator: { kind: 'index-range', low: 0, high: 8 } },
      order: { dtype: 'i32', shape: ['R'], access: 'in', generator: { kind: 'permutation' } },
    },
  });
  const drawn = { X: [-1, 2], W: [0.5, 3], indices: [7, 0], order: [1, 0] };
  const tensors = Object.fromEntries(Object.entries(drawn).map(([name, values]) => [name, Float64Array.from(values)]));
  const { NEGATIVE_INFINITY, POSITIVE_INFINITY, NaN: nan } = Number;
  const asked = [NEGATIVE_INFINITY, -1, 0, 5, 8, POSITIVE_INFINITY, nan];
  expect(choosableInputs(file, tensors).map(({ place, takes }) => [place, asked.filter(takes)])).toEqual([
    [0, [NEGATIVE_INFINITY, -1, 0, 5, 8]],
    [1, [5, 8]],
    [2, [0, 5]],
  ]);
});
