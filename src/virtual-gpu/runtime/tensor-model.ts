import { f16ToNumber, numberToF16 } from './half-numbers.ts';

/**
 * How a generation's tensor cores add products: in blocks of a fixed size. Each block is fused: aligned to its largest
 * exponent, truncated (towards zero) at this many fractional bits, added exactly, then truncated to the accumulator.
 */
export interface TensorModel {
  fractionBits: number;
  /** Products per block, by element type. */
  blockSize: Readonly<Record<string, number>>;
}

/**
 * Source: arXiv 2511.10909 (models of both generations); Hopper: equal to an H200, bench/hardware/tensor_accumulation.cu, and to an
 * H100, bench/virtual-gpu/record-instructions.ts.
 */
const AMPERE_AND_ADA: TensorModel = { fractionBits: 24, blockSize: { f16: 8, bf16: 8, tf32: 4 } };
const HOPPER: TensorModel = { fractionBits: 25, blockSize: { f16: 16, bf16: 16, tf32: 8 } };

/** The model of a PTX target such as `sm_90a`. */
export const tensorModel = (target: string): TensorModel => (/^sm_9/.test(target) ? HOPPER : AMPERE_AND_ADA);

/** wgmma of sm_90 adds as mma.sync does there: equal to an H100, bench/virtual-gpu/record-instructions.ts. */
export const warpgroupModel: TensorModel = HOPPER;

/** Elements of A (row-major, k wide) or of B (by column), decoded once for all their products. */
export interface Factors {
  readonly values: Float64Array;
  /** ⌊log₂|x|⌋ of each; `EXPONENT_OF_ZERO` for zeros. */
  readonly exponents: Int16Array;
  /** Whether none is infinite or NaN. */
  readonly finite: boolean;
}

/** Below the sum of any two exponents of numbers that are not zero. */
const EXPONENT_OF_ZERO = -16_384;
const NO_PRODUCT = EXPONENT_OF_ZERO / 2;

export function factorsOf(values: Float64Array): Factors {
  const exponents = new Int16Array(values.length);
  let finite = true;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    exponents[i] = value === 0 ? EXPONENT_OF_ZERO : exponentOf(value);
    if (!Number.isFinite(value)) finite = false;
  }
  return { values, exponents, finite };
}

/** Start value plus the dot product of row `row` of A and column `column` of B. */
export type Accumulate = (start: number, a: Factors, b: Factors, row: number, column: number, k: number) => number;

/** The function that computes D's elements, by accumulator and element type; undefined if there is no model. */
export function accumulatorFor(accumulator: string, element: string, model: TensorModel): Accumulate | undefined {
  if (accumulator === 's32') return integerAccumulate;
  const block = model.blockSize[element];
  if (block === undefined) return undefined;
  const finish = accumulator === 'f16' ? (v: number) => f16ToNumber(numberToF16(v)) : truncateToF32;
  return (start, a, b, row, column, k) => {
    let sum = start;
    for (let first = 0; first < k; first += block) {
      const count = Math.min(block, k - first);
      sum = finish(fusedBlock(sum, a, b, row * k + first, column * k + first, count, model.fractionBits));
    }
    return sum;
  };
}

const integerAccumulate: Accumulate = (start, a, b, row, column, k) => {
  let sum = start;
  for (let i = 0; i < k; i++) sum = (sum + a.values[row * k + i]! * b.values[column * k + i]!) | 0;
  return sum;
};

const double = new Float64Array(1);
const single = new Float32Array(double.buffer);
const words = new Uint32Array(double.buffer);

/** Exponent of a finite non-zero number: ⌊log₂|x|⌋, exact; 1024 for other numbers. */
function exponentOf(value: number): number {
  double[0] = value;
  return ((words[1]! >>> 20) & 0x7ff) - 1023;
}

/** 2 to an integer power in the range of normal numbers. */
function powerOfTwo(exponent: number): number {
  words[0] = 0;
  words[1] = (exponent + 1023) << 20;
  return double[0]!;
}

/** Sum of `sum` and `count` products, aligned and truncated as in hardware. */
function fusedBlock(
  sum: number,
  a: Factors,
  b: Factors,
  aStart: number,
  bStart: number,
  count: number,
  fractionBits: number,
): number {
  let largest = sum === 0 ? NO_PRODUCT : exponentOf(sum);
  for (let i = 0; i < count; i++) {
    // The hardware aligns by the sum of the factors' exponents, not by the normalised product's exponent.
    const exponent = a.exponents[aStart + i]! + b.exponents[bStart + i]!;
    if (exponent > largest) largest = exponent;
  }
  const aligned = a.finite && b.finite && Number.isFinite(sum) && largest > NO_PRODUCT;
  if (!aligned) {
    let plain = sum;
    for (let i = 0; i < count; i++) plain += a.values[aStart + i]! * b.values[bStart + i]!;
    // Other rows or columns may hold what is not finite.
    // Nothing but zeros adds up to +0, whatever their signs.
    if (!Number.isFinite(plain) || largest === NO_PRODUCT) return plain + 0;
  }
  const scale = powerOfTwo(fractionBits - largest);
  let total = Math.trunc(sum * scale);
  for (let i = 0; i < count; i++) total += Math.trunc(a.values[aStart + i]! * b.values[bStart + i]! * scale);
  return total / scale + 0;
}

/** The least number that is too large for f32. */
const BEYOND_F32 = 2 ** 128;

/** Rounds towards zero to f32, but to infinity what is too large. */
function truncateToF32(value: number): number {
  if (Math.abs(value) >= BEYOND_F32) return value > 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const nearest = Math.fround(value);
  if (!Number.isFinite(value) || Math.abs(nearest) <= Math.abs(value)) return nearest;
  single[0] = nearest;
  words[0] = words[0]! - 1;
  return single[0]!;
}
