import { type Exact, finite, infinity, NAN, type RoundingMode, roundShift } from './exact.ts';

/** A binary floating-point format, least significant bit first: fraction, exponent, sign. */
export interface FloatFormat {
  readonly bits: number;
  readonly exponentBits: number;
  readonly fractionBits: number;
  /** What arithmetic returns for NaN. */
  readonly canonicalNan: bigint;
  /** e4m3 has no infinities: only the all-ones pattern is NaN. */
  readonly hasInfinity: boolean;
}

const ieee = (exponentBits: number, fractionBits: number, canonicalNan: bigint): FloatFormat => ({
  bits: 1 + exponentBits + fractionBits,
  exponentBits,
  fractionBits,
  canonicalNan,
  hasInfinity: true,
});

export const FORMATS = {
  f16: ieee(5, 10, 0x7fffn),
  bf16: ieee(8, 7, 0x7fffn),
  f32: ieee(8, 23, 0x7fffffffn),
  f64: ieee(11, 52, 0x7fffffffffffffffn),
  e5m2: ieee(5, 2, 0x7fn),
  e4m3: { ...ieee(4, 3, 0x7fn), hasInfinity: false },
} as const satisfies Record<string, FloatFormat>;
export type FloatType = keyof typeof FORMATS;

export const isFloatType = (type: string): type is FloatType => type in FORMATS;

const bias = (format: FloatFormat): number => 2 ** (format.exponentBits - 1) - 1;
const exponentOf = (format: FloatFormat, bits: bigint): bigint =>
  (bits >> BigInt(format.fractionBits)) & ((1n << BigInt(format.exponentBits)) - 1n);
const fractionOf = (format: FloatFormat, bits: bigint): bigint => bits & ((1n << BigInt(format.fractionBits)) - 1n);
const signOf = (format: FloatFormat, bits: bigint): boolean => ((bits >> BigInt(format.bits - 1)) & 1n) === 1n;

const largestExponent = (format: FloatFormat): bigint => (1n << BigInt(format.exponentBits)) - 1n;

export function decode(type: FloatType, bits: bigint): Exact {
  const format: FloatFormat = FORMATS[type];
  const negative = signOf(format, bits);
  const exponent = exponentOf(format, bits);
  const fraction = fractionOf(format, bits);
  if (exponent === largestExponent(format)) {
    if (format.hasInfinity) return fraction === 0n ? infinity(negative) : NAN;
    if (fraction === (1n << BigInt(format.fractionBits)) - 1n) return NAN;
  }
  const isSubnormal = exponent === 0n;
  const significand = isSubnormal ? fraction : fraction | (1n << BigInt(format.fractionBits));
  return finite(negative, significand, (isSubnormal ? 1 : Number(exponent)) - bias(format) - format.fractionBits);
}

/** Value of a float64. */
export function exactOfNumber(value: number): Exact {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return decode('f64', view.getBigUint64(0));
}

/** Nearest float64. */
export function numberOf(x: Exact): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, x.kind === 'nan' ? 0x7ff8000000000000n : encode('f64', x, 'rn'));
  return view.getFloat64(0);
}

/** Bits of `x` rounded once to the format. Overflow follows the rounding mode, as IEEE 754 says. */
export function encode(type: FloatType, x: Exact, mode: RoundingMode): bigint {
  const format: FloatFormat = FORMATS[type];
  if (x.kind === 'nan') return format.canonicalNan;
  const sign = x.negative ? 1n << BigInt(format.bits - 1) : 0n;
  if (x.kind === 'infinite') return sign | (format.hasInfinity ? infinityBits(format) : format.canonicalNan);
  if (x.significand === 0n) return sign;
  const length = x.significand.toString(2).length;
  const smallest = 1 - bias(format);
  // Exponent of the last place: that of the leading bit, but no smaller than subnormals have.
  const place = Math.max(x.exponent + length - 1, smallest) - format.fractionBits;
  const rounded = roundShift(x.significand, place - x.exponent, x.negative, mode);
  const bits = rounded + (BigInt(place + format.fractionBits - smallest) << BigInt(format.fractionBits));
  return sign | (bits > largestFinite(format) ? overflow(format, x.negative, mode) : bits);
}

const infinityBits = (format: FloatFormat): bigint => largestExponent(format) << BigInt(format.fractionBits);

/** Bit pattern of the largest finite magnitude. */
function largestFinite(format: FloatFormat): bigint {
  return format.hasInfinity ? infinityBits(format) - 1n : format.canonicalNan - 1n;
}

function overflow(format: FloatFormat, negative: boolean, mode: RoundingMode): bigint {
  const staysFinite = mode === 'rz' || (mode === 'rm' && !negative) || (mode === 'rp' && negative);
  if (staysFinite) return largestFinite(format);
  return format.hasInfinity ? infinityBits(format) : format.canonicalNan;
}

/**
 * True when `.ftz` makes a result zero: rounded to the format's precision with no bound on the exponent, it lies below
 * the normal range. So the hardware decides; rounding to a subnormal first would now and then give the least normal.
 */
export function isTiny(type: FloatType, x: Exact, mode: RoundingMode): boolean {
  const format: FloatFormat = FORMATS[type];
  if (x.kind !== 'finite' || x.significand === 0n) return false;
  const place = x.exponent + x.significand.toString(2).length - 1 - format.fractionBits;
  const rounded = roundShift(x.significand, place - x.exponent, x.negative, mode);
  return place + rounded.toString(2).length - 1 < 1 - bias(format);
}

/** `.satfinite`: values beyond the range become the largest finite one; NaN stays. */
export function encodeSaturatingFinite(type: FloatType, x: Exact, mode: RoundingMode): bigint {
  const format: FloatFormat = FORMATS[type];
  const bits = encode(type, x, mode);
  if (x.kind === 'nan' || decode(type, bits).kind === 'finite') return bits;
  return (x.negative ? 1n << BigInt(format.bits - 1) : 0n) | largestFinite(format);
}

/** `.ftz`: a subnormal becomes the zero of its sign. */
export function flush(type: FloatType, bits: bigint): bigint {
  const format: FloatFormat = FORMATS[type];
  if (exponentOf(format, bits) !== 0n) return bits;
  return bits & (1n << BigInt(format.bits - 1));
}

export const isNanBits = (type: FloatType, bits: bigint): boolean => decode(type, bits).kind === 'nan';

/** True for a non-zero value below the normal range. */
export function isSubnormalBits(type: FloatType, bits: bigint): boolean {
  const format: FloatFormat = FORMATS[type];
  return exponentOf(format, bits) === 0n && fractionOf(format, bits) !== 0n;
}

/** The bits without, and only, the sign. */
export const magnitudeBits = (type: FloatType, bits: bigint): bigint =>
  bits & ((1n << BigInt(FORMATS[type].bits - 1)) - 1n);
export const signBit = (type: FloatType, bits: bigint): bigint => bits & (1n << BigInt(FORMATS[type].bits - 1));

/** Bits of 1.0. */
export const one = (type: FloatType): bigint => encode(type, finite(false, 1n, 0), 'rn');
