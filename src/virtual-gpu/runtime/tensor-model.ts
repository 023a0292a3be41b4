import { f16ToNumber, numberToF16 } from './half-numbers.ts';

/**
 * How a generation's tensor cores add products: in blocks of a fixed size. Each block is fused: aligned to its largest
 * exponent, truncated (towards zero) at this many fractional bits, added exactly, then truncated to the accumulator.
 */
export interface TensorModel {
  fractionBits: number;
  /** Products per block, by element type. */
  blockSize: Readonly<Record<string, number>>;
  /** How 8-bit floats are added, by accumulator type, where that is known. */
  float8?: Readonly<Record<string, Accumulate>>;
}

/**
 * Source: arXiv 2511.10909 (models of both generations); Hopper: equal to an H200, bench/hardware/tensor_accumulation.cu, and to an
 * H100, bench/virtual-gpu/record-instructions.ts.
 */
const AMPERE_AND_ADA: TensorModel = { fractionBits: 24, blockSize: { f16: 8, bf16: 8, tf32: 4 } };
const HOPPER: TensorModel = {
  fractionBits: 25,
  blockSize: { f16: 16, bf16: 16, tf32: 8 },
  float8: { f32: addAsHalves },
};

/** The model of a PTX target such as `sm_90a`. */
export const tensorModel = (target: string): TensorModel => (/^sm_9/.test(target) ? HOPPER : AMPERE_AND_ADA);

/**
 * wgmma of sm_90 adds as mma.sync does there, but for 8-bit floats: 32 products at once, aligned at few bits. Equal to an H100,
 * bench/virtual-gpu/record-instructions.ts.
 */
export const warpgroupModel: TensorModel = {
  ...HOPPER,
  float8: {
    f32: (...operands) => cutOff(addAtOnce(...operands, -126)),
    f16: (...operands) => toF16(addAtOnce(...operands, -14)),
  },
};
const FLOAT8_FRACTION_BITS = 13;

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

/** @param leastExponent what subnormal numbers have, where the hardware leaves them as they are. */
export function factorsOf(values: Float64Array, leastExponent = EXPONENT_OF_ZERO): Factors {
  const exponents = new Int16Array(values.length);
  let finite = true;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    exponents[i] = value === 0 ? EXPONENT_OF_ZERO : Math.max(exponentOf(value), leastExponent);
    if (!Number.isFinite(value)) finite = false;
  }
  return { values, exponents, finite };
}

/** Start value plus the dot product of row `row` of A and column `column` of B. */
export type Accumulate = (start: number, a: Factors, b: Factors, row: number, column: number, k: number) => number;

/**
 * The function that computes D's elements, by accumulator and element type; undefined if there is no model.
 * @param saturates whether sums of integers end at the bounds of s32.
 */
export function accumulatorFor(
  accumulator: string,
  element: string,
  model: TensorModel,
  saturates = false,
): Accumulate | undefined {
  if (accumulator === 's32') return saturates ? saturatingAccumulate : integerAccumulate;
  if (isFloat8(element)) return model.float8?.[accumulator];
  const block = model.blockSize[element];
  if (block === undefined) return undefined;
  const finish = accumulator === 'f16' ? toF16 : truncateToF32;
  const { fractionBits } = model;
  return (start, a, b, row, column, k) => {
    let sum = start;
    for (let first = 0; first < k; first += block) {
      const count = Math.min(block, k - first);
      sum = finish(fusedBlock(sum, a, b, { aStart: row * k + first, bStart: column * k + first, count, fractionBits }));
    }
    return sum;
  };
}

export const isFloat8 = (element: string): boolean => element === 'e4m3' || element === 'e5m2';

const toF16 = (value: number): number => f16ToNumber(numberToF16(value));

/** mma.sync has halves for them: first the first two of every four, from zero, then the others, then C with one rounding. */
function addAsHalves(start: number, a: Factors, b: Factors, row: number, column: number, k: number): number {
  const { fractionBits, blockSize } = HOPPER;
  let sum = 0;
  for (const first of [0, 2]) {
    const [aStart, bStart] = [row * k + first, column * k + first];
    sum = truncateToF32(
      fusedBlock(sum, a, b, { aStart, bStart, count: blockSize.f16!, fractionBits, skipsPairs: true }),
    );
  }
  return Math.fround(start + sum);
}

/** @param leastStart the exponent of a subnormal start value. */
const addAtOnce = (...[start, a, b, row, column, k, leastStart]: [...Parameters<Accumulate>, number]): number =>
  fusedBlock(start, a, b, {
    ...{ aStart: row * k, bStart: column * k, count: k },
    ...{ fractionBits: FLOAT8_FRACTION_BITS, leastStart },
  });

/** Towards zero, to f32 with as many bits as wgmma keeps of sums of 8-bit floats. */
function cutOff(value: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const scale = powerOfTwo(FLOAT8_FRACTION_BITS - Math.max(exponentOf(value), -126));
  return truncateToF32(Math.trunc(value * scale) / scale + 0);
}

const integerAccumulate: Accumulate = (start, a, b, row, column, k) => {
  let sum = start;
  for (let i = 0; i < k; i++) sum = (sum + a.values[row * k + i]! * b.values[column * k + i]!) | 0;
  return sum;
};

/** All products are added before the sum is cut to the bounds. */
const saturatingAccumulate: Accumulate = (start, a, b, row, column, k) => {
  let sum = start;
  for (let i = 0; i < k; i++) sum += a.values[row * k + i]! * b.values[column * k + i]!;
  return Math.min(2 ** 31 - 1, Math.max(-(2 ** 31), sum));
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

/** Products that are added at once. */
interface Block {
  readonly aStart: number;
  readonly bStart: number;
  readonly count: number;
  readonly fractionBits: number;
  /** Two of every four. */
  readonly skipsPairs?: boolean;
  /** Exponent of a subnormal start value. */
  readonly leastStart?: number;
}

/** Sum of `sum` and products, aligned and truncated as in hardware. */
function fusedBlock(sum: number, a: Factors, b: Factors, block: Block): number {
  const { aStart, bStart, count, fractionBits, skipsPairs = false, leastStart = NO_PRODUCT } = block;
  const skipped = skipsPairs ? -2 : 0;
  let largest = sum === 0 ? NO_PRODUCT : Math.max(exponentOf(sum), leastStart);
  for (let i = 0; i < count; i++) {
    const at = i + (i & skipped);
    // The hardware aligns by the sum of the factors' exponents, not by the normalised product's exponent.
    const exponent = a.exponents[aStart + at]! + b.exponents[bStart + at]!;
    if (exponent > largest) largest = exponent;
  }
  const aligned = a.finite && b.finite && Number.isFinite(sum) && largest > NO_PRODUCT;
  if (!aligned) {
    let plain = sum;
    for (let i = 0; i < count; i++)
      plain += a.values[aStart + i + (i & skipped)]! * b.values[bStart + i + (i & skipped)]!;
    // Other rows or columns may hold what is not finite. Nothing but zeros adds up to +0, whatever their signs.
    if (!Number.isFinite(plain) || largest === NO_PRODUCT) return plain + 0;
  }
  const scale = powerOfTwo(fractionBits - largest);
  let total = Math.trunc(sum * scale);
  for (let i = 0; i < count; i++) {
    const at = i + (i & skipped);
    total += Math.trunc(a.values[aStart + at]! * b.values[bStart + at]! * scale);
  }
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
