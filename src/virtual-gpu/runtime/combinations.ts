import { bitsOfF64, f64OfBits } from '../../ptx/literals.ts';
import { bf16ToNumber, f16ToNumber, f32ToNumber, numberToBf16, numberToF16, numberToF32 } from './half-numbers.ts';

/** New value of a memory location from the old one and the operands, all as unsigned bit patterns. */
export type Combine<Bits> = (old: Bits, operand: Bits, second: Bits) => Bits;

/** Below 2⁻¹²⁶. */
const isSubnormal = (bits: number): boolean => (bits & 0x7f800000) === 0 && (bits & 0x7fffff) !== 0;

const flushed = (bits: number): number => (isSubnormal(bits) ? (bits & 0x80000000) >>> 0 : bits);

/**
 * f32 additions in device memory take subnormal numbers for zeros of their sign and give such, whatever the flags; those in shared memory don't
 * (PTX ISA, `atom`).
 */
export const flushingAdd: Combine<number> = (a, b) =>
  flushed(numberToF32(f32ToNumber(flushed(a)) + f32ToNumber(flushed(b))));

const low16 = (bits: number): number => bits & 0xffff;
const high16 = (bits: number): number => bits >>> 16;

/** Sum of two 16-bit floats, rounded once (the f64 sum of two of them is exact). */
const halfAdd = (a: number, b: number): number => numberToF16(f16ToNumber(a) + f16ToNumber(b));
const bfloatAdd = (a: number, b: number): number => numberToBf16(bf16ToNumber(a) + bf16ToNumber(b));

const pack = (low: number, high: number): number => (low | (high << 16)) >>> 0;

/** Additions of floats of up to 32 bits; integers add modulo their width. */
const FLOAT_ADDITIONS: Record<string, Combine<number>> = {
  f32: (a, b) => numberToF32(f32ToNumber(a) + f32ToNumber(b)),
  f16: halfAdd,
  bf16: bfloatAdd,
  f16x2: (a, b) => pack(halfAdd(low16(a), low16(b)), halfAdd(high16(a), high16(b))),
  bf16x2: (a, b) => pack(bfloatAdd(low16(a), low16(b)), bfloatAdd(high16(a), high16(b))),
};

/** How to read a 16-bit float, and which bits are NaNs. */
type Halves = readonly [read: (bits: number) => number, isNan: (bits: number) => boolean];
const HALVES: Readonly<Record<string, Halves>> = {
  f16: [f16ToNumber, (bits) => (bits & 0x7fff) > 0x7c00],
  bf16: [bf16ToNumber, (bits) => (bits & 0x7fff) > 0x7f80],
};
const HALF_NAN = 0x7fff;

/** The one of two 16-bit floats that is further in a direction: −1 for the lesser. A number wins over NaN, and −0 is less than 0. */
const halfBound =
  ([read, isNan]: Halves, direction: number): Combine<number> =>
  (a, b) => {
    if (isNan(b)) return isNan(a) ? HALF_NAN : a;
    if (isNan(a)) return b;
    const difference = (read(b) - read(a)) * direction;
    return difference > 0 || (difference === 0 && direction < 0 === b > 0x7fff) ? b : a;
  };

/** The value of a bit pattern of up to 32 bits, for comparisons. */
function ordered(type: string, bits: number): (pattern: number) => number {
  if (type === 'f32') return f32ToNumber;
  return type.startsWith('s') ? (pattern) => (pattern << (32 - bits)) >> (32 - bits) : (pattern) => pattern;
}

/** @param bits at most 32. */
export function wordCombination(operation: string, type: string, bits: number): Combine<number> | undefined {
  const mask = bits === 32 ? 0xffffffff : 2 ** bits - 1;
  const read = ordered(type, bits);
  const halves = HALVES[type];
  const table: Record<string, Combine<number>> = {
    add: FLOAT_ADDITIONS[type] ?? ((a, b) => ((a + b) & mask) >>> 0),
    min: halves ? halfBound(halves, -1) : (a, b) => (read(b) - read(a) < 0 ? b : a),
    max: halves ? halfBound(halves, 1) : (a, b) => (read(b) - read(a) > 0 ? b : a),
    and: (a, b) => (a & b) >>> 0,
    or: (a, b) => (a | b) >>> 0,
    xor: (a, b) => (a ^ b) >>> 0,
    exch: (_, b) => b,
    cas: (a, b, c) => (a === b ? c : a),
    inc: (a, b) => (a >= b ? 0 : a + 1),
    dec: (a, b) => (a === 0 || a > b ? b : a - 1),
  };
  return table[operation];
}

export function doubleCombination(operation: string, type: string): Combine<bigint> | undefined {
  const read = (v: bigint): bigint | number =>
    type === 'f64' ? f64OfBits(v) : type.startsWith('s') ? BigInt.asIntN(64, v) : v;
  const table: Record<string, Combine<bigint>> = {
    add: type === 'f64' ? (a, b) => bitsOfF64(f64OfBits(a) + f64OfBits(b)) : (a, b) => BigInt.asUintN(64, a + b),
    min: (a, b) => (read(b) < read(a) ? b : a),
    max: (a, b) => (read(b) > read(a) ? b : a),
    and: (a, b) => a & b,
    or: (a, b) => a | b,
    xor: (a, b) => a ^ b,
    exch: (_, b) => b,
    cas: (a, b, c) => (a === b ? c : a),
    inc: (a, b) => (a >= b ? 0n : a + 1n),
    dec: (a, b) => (a === 0n || a > b ? b : a - 1n),
  };
  return table[operation];
}
