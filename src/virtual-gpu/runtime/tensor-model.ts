import { f16ToNumber, numberToF16 } from './half-numbers.ts';

/**
 * How a generation's tensor cores add products: in blocks of so many, each block fused: aligned to its largest
 * exponent, cut off (towards zero) at this many fractional bits, added exactly, then cut off to the accumulator.
 */
export interface TensorModel {
  fractionBits: number;
  /** Products per block, by element type. */
  blockSize: Readonly<Record<string, number>>;
}

/** Source: arXiv 2511.10909 (models of both generations); Hopper: equal to an H200, bench/hardware/tensor_accumulation.cu. */
const AMPERE_AND_ADA: TensorModel = { fractionBits: 24, blockSize: { f16: 8, bf16: 8, tf32: 4 } };
const HOPPER: TensorModel = { fractionBits: 25, blockSize: { f16: 16, bf16: 16, tf32: 8 } };

/** The model of a PTX target such as `sm_90a`. */
export const tensorModel = (target: string): TensorModel => (/^sm_9/.test(target) ? HOPPER : AMPERE_AND_ADA);

/** Start value plus the dot product of row `row` of A (row-major, k wide) and column `column` of B (by column). */
export type Accumulate = (
  start: number,
  a: Float64Array,
  b: Float64Array,
  row: number,
  column: number,
  k: number,
) => number;

/** How D's elements come about, for an accumulator and an element type; undefined where there is no model. */
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
  for (let i = 0; i < k; i++) sum = (sum + a[row * k + i]! * b[column * k + i]!) | 0;
  return sum;
};

const scratch = new DataView(new ArrayBuffer(8));

/** Exponent of a finite non-zero number: ⌊log₂|x|⌋, exact. */
function exponentOf(value: number): number {
  scratch.setFloat64(0, value);
  return ((scratch.getUint16(0) >>> 4) & 0x7ff) - 1023;
}

/** Sum of `sum` and `count` products, aligned and cut off as the hardware does. */
function fusedBlock(
  sum: number,
  a: Float64Array,
  b: Float64Array,
  aStart: number,
  bStart: number,
  count: number,
  fractionBits: number,
): number {
  let largest = sum === 0 ? Number.NEGATIVE_INFINITY : exponentOf(sum);
  let plain = sum;
  for (let i = 0; i < count; i++) {
    const [x, y] = [a[aStart + i]!, b[bStart + i]!];
    plain += x * y;
    // The aligner sees the sum of the factors' exponents, not the normalised product's.
    if (x !== 0 && y !== 0) largest = Math.max(largest, exponentOf(x) + exponentOf(y));
  }
  if (!Number.isFinite(plain) || largest === Number.NEGATIVE_INFINITY) return plain;
  const scale = 2 ** (fractionBits - largest);
  let total = Math.trunc(sum * scale);
  for (let i = 0; i < count; i++) total += Math.trunc(a[aStart + i]! * b[bStart + i]! * scale);
  return total / scale;
}

/** Rounds towards zero to f32. */
function truncateToF32(value: number): number {
  const nearest = Math.fround(value);
  if (!Number.isFinite(value) || Math.abs(nearest) <= Math.abs(value)) return nearest;
  scratch.setFloat32(0, nearest);
  scratch.setUint32(0, scratch.getUint32(0) - 1);
  return scratch.getFloat32(0);
}
