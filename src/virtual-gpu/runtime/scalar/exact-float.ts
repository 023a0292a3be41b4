/** Correctly rounded arithmetic on binary floating-point bit patterns, for the forms that have no vector code. */
export type FloatName = 'f16' | 'bf16' | 'f32' | 'f64' | 'e4m3' | 'e5m2';
export type Rounding = 'rn' | 'rz' | 'rm' | 'rp' | 'rna';

interface Layout {
  bits: number;
  /** Fraction bits. */
  fraction: number;
  /** Exponent of the last place of subnormals. */
  leastExponent: number;
  /** Pattern of the largest finite magnitude; larger patterns are infinity, then NaN. */
  largest: bigint;
  nan: bigint;
  /** Pattern of infinity; the NaN pattern for e4m3, which has none. */
  infinity: bigint;
}

const layout = (bits: number, fraction: number, leastExponent: number, infinity: bigint, nan: bigint): Layout => ({
  bits,
  fraction,
  leastExponent,
  largest: infinity - 1n,
  nan,
  infinity,
});

const LAYOUTS: Record<FloatName, Layout> = {
  f16: layout(16, 10, -24, 0x7c00n, 0x7fffn),
  bf16: layout(16, 7, -133, 0x7f80n, 0x7fffn),
  f32: layout(32, 23, -149, 0x7f800000n, 0x7fffffffn),
  f64: layout(64, 52, -1074, 0x7ff0000000000000n, 0x7ff8000000000000n),
  e4m3: layout(8, 3, -9, 0x7fn, 0x7fn),
  e5m2: layout(8, 2, -16, 0x7cn, 0x7fn),
};

export const isFloatName = (type: string): type is FloatName => type in LAYOUTS;
export const floatBits = (name: FloatName): number => LAYOUTS[name].bits;
export const nanOf = (name: FloatName): bigint => LAYOUTS[name].nan;
const signMask = ({ bits }: Layout): bigint => 1n << BigInt(bits - 1);

/** A finite value: units × 2^exponent, with the sign of a zero in `negative`. Otherwise what it is. */
export type Value =
  | { kind: 'number'; negative: boolean; units: bigint; exponent: number }
  | { kind: 'infinity'; negative: boolean }
  | { kind: 'nan' };

export function decode(name: FloatName, pattern: bigint): Value {
  const f = LAYOUTS[name];
  const magnitude = pattern & (signMask(f) - 1n);
  const negative = (pattern & signMask(f)) !== 0n;
  if (magnitude > f.largest)
    return magnitude === f.infinity && f.infinity !== f.nan ? { kind: 'infinity', negative } : { kind: 'nan' };
  const biased = magnitude >> BigInt(f.fraction);
  const fraction = magnitude & ((1n << BigInt(f.fraction)) - 1n);
  if (biased === 0n) return { kind: 'number', negative, units: fraction, exponent: f.leastExponent };
  const units = fraction | (1n << BigInt(f.fraction));
  return { kind: 'number', negative, units, exponent: f.leastExponent + Number(biased) - 1 };
}

export const isNan = (name: FloatName, pattern: bigint): boolean =>
  (pattern & (signMask(LAYOUTS[name]) - 1n)) > LAYOUTS[name].infinity || decode(name, pattern).kind === 'nan';

const bitLength = (n: bigint): number => (n === 0n ? 0 : n.toString(2).length);

/** `units` ÷ 2^shift as an integer, rounded. */
export function shiftRounded(units: bigint, shift: number, negative: boolean, rounding: Rounding): bigint {
  if (shift <= 0) return units << BigInt(-shift);
  const kept = units >> BigInt(shift);
  const lost = units & ((1n << BigInt(shift)) - 1n);
  if (lost === 0n || rounding === 'rz') return kept;
  if (rounding === 'rm' || rounding === 'rp') return kept + (negative === (rounding === 'rm') ? 1n : 0n);
  const half = 1n << BigInt(shift - 1);
  const up = lost > half || (lost === half && (rounding === 'rna' || (kept & 1n) === 1n));
  return up ? kept + 1n : kept;
}

/** Nearest pattern of a value. `finite` keeps overflow at the largest finite value (`.satfinite`). */
export function patternOf(name: FloatName, value: Value, rounding: Rounding, finite = false): bigint {
  const f = LAYOUTS[name];
  if (value.kind === 'nan') return f.nan;
  const sign = value.negative ? signMask(f) : 0n;
  if (value.kind === 'infinity') return sign | (finite ? f.largest : f.infinity);
  const { units, exponent, negative } = value;
  if (units === 0n) return sign;
  const place = Math.max(exponent + bitLength(units) - 1 - f.fraction, f.leastExponent);
  const rounded = shiftRounded(units, place - exponent, negative, rounding);
  // A carry out of the fraction lands in the exponent field by itself.
  const pattern = rounded + (BigInt(place - f.leastExponent) << BigInt(f.fraction));
  if (pattern <= f.largest) return sign | pattern;
  const stays = finite || rounding === 'rz' || (rounding === 'rm' && !negative) || (rounding === 'rp' && negative);
  return sign | (stays ? f.largest : f.infinity);
}

/**
 * Whether `.ftz` makes the value zero: rounded with unbounded exponent, it lies below the normal range. Rounding to a
 * subnormal first would sometimes give the least normal value, unlike the hardware.
 */
export function isTiny(name: FloatName, value: Value, rounding: Rounding): boolean {
  if (value.kind !== 'number' || value.units === 0n) return false;
  const f = LAYOUTS[name];
  const place = value.exponent + bitLength(value.units) - 1 - f.fraction;
  const rounded = shiftRounded(value.units, place - value.exponent, value.negative, rounding);
  return place + bitLength(rounded) - 1 < f.leastExponent + f.fraction;
}

const NAN: Value = { kind: 'nan' };
const number = (signed: bigint, exponent: number, negativeZero: boolean): Value => ({
  kind: 'number',
  negative: signed < 0n || (signed === 0n && negativeZero),
  units: signed < 0n ? -signed : signed,
  exponent,
});

type Finite = Extract<Value, { kind: 'number' }>;
function signedUnits(v: Finite, exponent: number): bigint {
  const units = v.units << BigInt(v.exponent - exponent);
  return v.negative ? -units : units;
}

export function sum(a: Value, b: Value, rounding: Rounding): Value {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  if (a.kind === 'infinity') return b.kind === 'infinity' && b.negative !== a.negative ? NAN : a;
  if (b.kind === 'infinity') return b;
  const exponent = Math.min(a.exponent, b.exponent);
  // A zero from terms of different sign is −0 only when rounding down.
  const negativeZero = a.negative === b.negative ? a.negative : rounding === 'rm';
  return number(signedUnits(a, exponent) + signedUnits(b, exponent), exponent, negativeZero);
}

const isZero = (v: Value): boolean => v.kind === 'number' && v.units === 0n;

export function product(a: Value, b: Value): Value {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === 'infinity' || b.kind === 'infinity')
    return isZero(a) || isZero(b) ? NAN : { kind: 'infinity', negative };
  return { kind: 'number', negative, units: a.units * b.units, exponent: a.exponent + b.exponent };
}

/** Extra bits beyond any format's precision; the last one records that bits were truncated. */
const EXTRA_BITS = 130;

const withSticky = (units: bigint, isExact: boolean, exponent: number, negative: boolean): Value => ({
  kind: 'number',
  negative,
  units: (units << 1n) | (isExact ? 0n : 1n),
  exponent: exponent - 1,
});

export function quotient(a: Value, b: Value): Value {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === 'infinity') return b.kind === 'infinity' ? NAN : { kind: 'infinity', negative };
  if (b.kind === 'infinity') return { kind: 'number', negative, units: 0n, exponent: 0 };
  if (b.units === 0n) return a.units === 0n ? NAN : { kind: 'infinity', negative };
  const scaled = a.units << BigInt(EXTRA_BITS);
  const isExact = scaled % b.units === 0n;
  return withSticky(scaled / b.units, isExact, a.exponent - b.exponent - EXTRA_BITS, negative);
}

export function root(a: Value): Value {
  if (a.kind === 'nan' || isZero(a)) return a;
  if (a.negative) return NAN;
  if (a.kind === 'infinity') return a;
  const shift = EXTRA_BITS * 2 + (a.exponent & 1);
  const radicand = a.units << BigInt(shift);
  const units = integerRoot(radicand);
  return withSticky(units, units * units === radicand, (a.exponent - shift) / 2, false);
}

function integerRoot(n: bigint): bigint {
  let guess = 1n << BigInt((bitLength(n) + 1) >> 1);
  for (let next = (guess + n / guess) >> 1n; next < guess; next = (guess + n / guess) >> 1n) guess = next;
  return guess;
}

export const ofInteger = (value: bigint): Value => number(value, 0, false);

/** The value rounded to an integer; only for finite ones. */
export function toInteger(value: Finite, rounding: Rounding): bigint {
  const units = shiftRounded(value.units, -value.exponent, value.negative, rounding);
  return value.negative ? -units : units;
}

/** `.ftz`: a subnormal pattern becomes the zero of its sign. */
export function flushPattern(name: FloatName, pattern: bigint): bigint {
  const f = LAYOUTS[name];
  const isSubnormal = (pattern & (signMask(f) - 1n)) >> BigInt(f.fraction) === 0n;
  return isSubnormal ? pattern & signMask(f) : pattern;
}

/** `.sat`: into [0, 1]; NaN gives 0. */
export function saturatePattern(name: FloatName, pattern: bigint): bigint {
  if (isNan(name, pattern) || (pattern & signMask(LAYOUTS[name])) !== 0n) return 0n;
  const one = patternOf(name, ofInteger(1n), 'rn');
  return pattern > one ? one : pattern;
}

/** `.relu`: negative values give 0, NaN the canonical NaN. */
export function rectifyPattern(name: FloatName, pattern: bigint): bigint {
  if (isNan(name, pattern)) return nanOf(name);
  return (pattern & signMask(LAYOUTS[name])) !== 0n ? 0n : pattern;
}

const scratch = new DataView(new ArrayBuffer(8));

/** The pattern as a JavaScript number. */
export function toNumber(name: FloatName, pattern: bigint): number {
  scratch.setBigUint64(0, name === 'f64' ? pattern : patternOf('f64', decode(name, pattern), 'rn'));
  return scratch.getFloat64(0);
}

/** Nearest pattern of a JavaScript number. */
export function fromNumber(name: FloatName, value: number): bigint {
  scratch.setFloat64(0, value);
  return patternOf(name, decode('f64', scratch.getBigUint64(0)), 'rn');
}
