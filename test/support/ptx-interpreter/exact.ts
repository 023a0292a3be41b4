/**
 * Exact arithmetic on the values of binary floating-point formats: dyadic rationals with a sign on zero, infinities
 * and one NaN. Everything that rounds does so once, in formats.ts.
 */
export type Exact =
  | { kind: 'finite'; negative: boolean /** ≥ 0 */; significand: bigint; exponent: number }
  | { kind: 'infinite'; negative: boolean }
  | { kind: 'nan' };

/** How an exact zero sum of two non-zero values, or of +0 and −0, is signed: −0 only when rounding down. */
export type RoundingMode = 'rn' | 'rz' | 'rm' | 'rp' | 'rna';

export const NAN: Exact = { kind: 'nan' };
export const infinity = (negative: boolean): Exact => ({ kind: 'infinite', negative });

/** (−1)^negative · significand · 2^exponent */
export const finite = (negative: boolean, significand: bigint, exponent: number): Exact => ({
  kind: 'finite',
  negative,
  significand,
  exponent,
});

export const exactInteger = (value: bigint): Exact => finite(value < 0n, value < 0n ? -value : value, 0);
export const isZero = (x: Exact): boolean => x.kind === 'finite' && x.significand === 0n;

/** Sign of a number; false for NaN. */
export const isNegative = (x: Exact): boolean => x.kind !== 'nan' && x.negative;

export const negate = (x: Exact): Exact => (x.kind === 'nan' ? x : { ...x, negative: !x.negative });

/** Significands of two finite values at their common (smaller) exponent. */
function aligned(
  a: Extract<Exact, { kind: 'finite' }>,
  b: Extract<Exact, { kind: 'finite' }>,
): { x: bigint; y: bigint; exponent: number } {
  const exponent = Math.min(a.exponent, b.exponent);
  const at = (v: typeof a): bigint => {
    const magnitude = v.significand << BigInt(v.exponent - exponent);
    return v.negative ? -magnitude : magnitude;
  };
  return { x: at(a), y: at(b), exponent };
}

export function add(a: Exact, b: Exact, mode: RoundingMode): Exact {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  if (a.kind === 'infinite') return b.kind === 'infinite' && a.negative !== b.negative ? NAN : a;
  if (b.kind === 'infinite') return b;
  const { x, y, exponent } = aligned(a, b);
  const sum = x + y;
  if (sum === 0n) {
    const bothNegative = a.negative && b.negative;
    const bothPositive = !a.negative && !b.negative;
    return finite(bothNegative || (!bothPositive && mode === 'rm'), 0n, 0);
  }
  return finite(sum < 0n, sum < 0n ? -sum : sum, exponent);
}

export function multiply(a: Exact, b: Exact): Exact {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === 'infinite' || b.kind === 'infinite') return isZero(a) || isZero(b) ? NAN : infinity(negative);
  return finite(negative, a.significand * b.significand, a.exponent + b.exponent);
}

/** Extra bits that make a quotient or root round like the true value: the last one is sticky. */
const GUARD_BITS = 160;

/** a ÷ b, truncated with a sticky last bit far beyond every format's precision. */
export function divide(a: Exact, b: Exact): Exact {
  if (a.kind === 'nan' || b.kind === 'nan') return NAN;
  const negative = a.negative !== b.negative;
  if (a.kind === 'infinite') return b.kind === 'infinite' ? NAN : infinity(negative);
  if (b.kind === 'infinite') return finite(negative, 0n, 0);
  if (b.significand === 0n) return a.significand === 0n ? NAN : infinity(negative);
  const numerator = a.significand << BigInt(GUARD_BITS);
  const quotient = numerator / b.significand;
  const sticky = numerator % b.significand === 0n ? 0n : 1n;
  return finite(negative, (quotient << 1n) | sticky, a.exponent - b.exponent - GUARD_BITS - 1);
}

/** √a, likewise. */
export function squareRoot(a: Exact): Exact {
  if (a.kind === 'nan') return NAN;
  if (isZero(a)) return a;
  if (a.negative) return NAN;
  if (a.kind === 'infinite') return a;
  const shift = GUARD_BITS + (((a.exponent - GUARD_BITS) & 1) === 0 ? 0 : 1);
  const radicand = a.significand << BigInt(shift);
  const root = integerRoot(radicand);
  const sticky = root * root === radicand ? 0n : 1n;
  return finite(false, (root << 1n) | sticky, (a.exponent - shift) / 2 - 1);
}

/** ⌊√n⌋ by Newton's method. */
function integerRoot(n: bigint): bigint {
  if (n < 2n) return n;
  let x = 1n << BigInt(Math.ceil(n.toString(2).length / 2));
  for (;;) {
    const next = (x + n / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

/** −1, 0 or 1; undefined when either is NaN. Zeros are equal. */
export function compare(a: Exact, b: Exact): -1 | 0 | 1 | undefined {
  if (a.kind === 'nan' || b.kind === 'nan') return undefined;
  const rank = (v: Exact): number => (v.kind === 'infinite' ? (v.negative ? -1 : 1) : 0);
  if (rank(a) !== rank(b)) return rank(a) < rank(b) ? -1 : 1;
  if (a.kind === 'infinite' || b.kind === 'infinite') return 0;
  const { x, y } = aligned(a, b);
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Nearest integer by `mode`, as a bigint; only for finite values. */
export function toInteger(x: Extract<Exact, { kind: 'finite' }>, mode: RoundingMode): bigint {
  const magnitude = roundShift(x.significand, -x.exponent, x.negative, mode);
  return x.negative ? -magnitude : magnitude;
}

/** significand ÷ 2^shift rounded to an integer (shift < 0 multiplies). */
export function roundShift(significand: bigint, shift: number, negative: boolean, mode: RoundingMode): bigint {
  if (shift <= 0) return significand << BigInt(-shift);
  const floor = significand >> BigInt(shift);
  const rest = significand - (floor << BigInt(shift));
  if (rest === 0n) return floor;
  const half = 1n << BigInt(shift - 1);
  const up: Record<RoundingMode, boolean> = {
    rn: rest > half || (rest === half && (floor & 1n) === 1n),
    rna: rest >= half,
    rz: false,
    rm: negative,
    rp: !negative,
  };
  return up[mode] ? floor + 1n : floor;
}
