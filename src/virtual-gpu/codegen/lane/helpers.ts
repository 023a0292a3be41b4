import { type FunctionBuilder, f32Bits, type Local, type ValueType } from '../../wasm/function-builder.ts';
import type { ModuleBuilder } from '../../wasm/module-builder.ts';
import { hyperbolicTangent, sineOrCosine } from './transcendental-helpers.ts';

/** Vector subroutines too long to repeat at every use. Each takes and returns v128. */
export type HelperName =
  | 'fmaF32'
  | 'fmaF64'
  | 'fmaF16'
  | 'fmaBf16'
  | 'halfToFloat'
  | 'floatToHalf'
  | 'floatToBfloat'
  | 'exp2'
  | 'log2'
  | 'sine'
  | 'cosine'
  | 'tanh'
  | 'flushDenormals'
  | 'divideSigned'
  | 'divideUnsigned'
  | 'shiftLeftLanes'
  | 'shiftRightLanes'
  | 'shiftRightSignedLanes'
  | 'shiftLeftDoubles'
  | 'shiftRightDoubles'
  | 'shiftRightSignedDoubles';

interface Helper {
  arity: number;
  body: (b: FunctionBuilder, helpers: Helpers) => void;
}

const SIGN = f32Bits(-0);
const MAGNITUDE = 0x7fffffff;

/** f32 → f16 bits in the low half of each lane, round to nearest even; NaN becomes 0x7fff as PTX says. */
function floatToHalf(b: FunctionBuilder): void {
  const [a, result] = b.locals('v128', 2);
  b.get(0).i32x4(MAGNITUDE).op('v128.and').set(a);
  // Normal range: rebias the exponent and round on the 13 dropped bits, ties to even.
  b.get(a).i32x4(0xc8000fff).op('i32x4.add');
  b.get(a).i32(13).op('i32x4.shr_u').i32x4(1).op('v128.and', 'i32x4.add');
  b.i32(13).op('i32x4.shr_u').set(result);
  // Below 2⁻¹⁴: adding 0.5 puts the f16 subnormal's last place at f32's last place.
  b.get(a).f32x4(0.5).op('f32x4.add').f32x4(0.5).op('i32x4.sub');
  b.get(result, a)
    .i32x4(f32Bits(2 ** -14))
    .op('i32x4.lt_s', 'v128.bitselect')
    .set(result);
  b.i32x4(0x7c00).get(result, a).i32x4(f32Bits(65536)).op('i32x4.ge_s', 'v128.bitselect').set(result);
  b.i32x4(0x7fff).get(result, a).i32x4(0x7f800000).op('i32x4.gt_s', 'v128.bitselect').set(result);
  b.get(0).i32(16).op('i32x4.shr_u').i32x4(0x8000).op('v128.and');
  b.get(a).i32x4(0x7f800000).op('i32x4.gt_s', 'v128.andnot');
  b.get(result).op('v128.or');
}

/** Low 16 bits as f16 → f32; exact. The operand is in `source`. */
function pushHalfToFloat(b: FunctionBuilder, source: Local): void {
  const a = b.get(source).i32x4(0x7fff).op('v128.and').i32(13).op('i32x4.shl').pop('v128');
  b.get(a).i32x4(0x7f800000).op('v128.or');
  b.get(a)
    .f32x4(2 ** 112)
    .op('f32x4.mul');
  b.get(a).i32x4(0x0f800000).op('i32x4.ge_s', 'v128.bitselect');
  b.get(source).i32x4(0x8000).op('v128.and').i32(16).op('i32x4.shl', 'v128.or');
}

/** f32 → bf16, round to nearest even; NaN becomes 0x7fff. */
function floatToBfloat(b: FunctionBuilder): void {
  b.i32x4(0x7fff);
  b.get(0).i32x4(0x7fff).op('i32x4.add');
  b.get(0).i32(16).op('i32x4.shr_u').i32x4(1).op('v128.and', 'i32x4.add');
  b.i32(16).op('i32x4.shr_u');
  b.get(0, 0).op('f32x4.ne', 'v128.bitselect');
}

/** Coefficients of 2^f on [−½, ½] (Taylor in ln 2; truncation error below 2⁻²⁶), highest power first. */
const EXP2_COEFFICIENTS = Array.from({ length: 8 }, (_, i) => {
  const power = 7 - i;
  let factorial = 1;
  for (let k = 2; k <= power; k++) factorial *= k;
  return Math.LN2 ** power / factorial;
});

/** 2^x within 2 ulp; subnormal results kept (the caller flushes under .ftz). What is done to a NaN on the way does not matter. */
function exp2(b: FunctionBuilder, helpers: Helpers): void {
  const [x, n, f, half] = b.locals('v128', 4);
  b.get(0).f32x4(-160).op('f32x4.pmax').f32x4(160).op('f32x4.pmin').set(x);
  b.get(x).op('f32x4.nearest').set(n);
  b.get(x, n).op('f32x4.sub').set(f);
  b.f32x4(EXP2_COEFFICIENTS[0]!);
  for (const coefficient of EXP2_COEFFICIENTS.slice(1)) {
    b.get(f).f32x4(coefficient);
    helpers.emit(b, 'fmaF32');
  }
  // Scale in two steps so that 2^n may be subnormal or overflow.
  b.get(n).op('i32x4.relaxed_trunc_f32x4_s').tee(n).i32(1).op('i32x4.shr_s').set(half);
  for (const pushExponent of [() => b.get(half), () => b.get(n, half).op('i32x4.sub')]) {
    pushExponent();
    b.i32x4(127).op('i32x4.add').i32(23).op('i32x4.shl', 'f32x4.mul');
  }
  // NaN stays NaN.
  b.set(x);
  b.get(0, x, 0, 0).op('f32x4.ne', 'v128.bitselect');
}

/** log₂ x within 2 ulp away from 1: x = 2^e·m, m in [√½, √2), through the atanh series. */
function log2(b: FunctionBuilder): void {
  const names = ['x', 'bits', 'e', 'm', 't', 't2', 'small'] as const;
  const v = Object.fromEntries(names.map((name) => [name, b.local('v128')])) as Record<(typeof names)[number], number>;
  // Subnormals are scaled up by 2²⁴ first.
  b.get(0)
    .f32x4(2 ** -126)
    .op('f32x4.lt')
    .set(v.small);
  b.get(0)
    .f32x4(2 ** 24)
    .op('f32x4.mul')
    .get(0, v.small)
    .op('v128.bitselect')
    .set(v.x);
  b.get(v.x).i32x4(f32Bits(Math.SQRT1_2)).op('i32x4.sub').i32(23).op('i32x4.shr_s').set(v.e);
  b.get(v.x, v.e).i32(23).op('i32x4.shl', 'i32x4.sub').set(v.m);
  b.get(v.m).f32x4(1).op('f32x4.sub').get(v.m).f32x4(1).op('f32x4.add', 'f32x4.div').tee(v.t);
  b.get(v.t).op('f32x4.mul').set(v.t2);
  const scale = 2 / Math.LN2;
  b.f32x4(scale / 11);
  for (const power of [9, 7, 5, 3, 1])
    b.get(v.t2)
      .op('f32x4.mul')
      .f32x4(scale / power)
      .op('f32x4.add');
  b.get(v.t).op('f32x4.mul');
  b.get(v.e).op('f32x4.convert_i32x4_s', 'f32x4.add');
  b.f32x4(24).get(v.small).op('v128.and', 'f32x4.sub').set(v.t);
  // Special values: +∞, zero, negative and NaN.
  b.f32x4(Number.POSITIVE_INFINITY)
    .get(v.t, 0)
    .f32x4(Number.POSITIVE_INFINITY)
    .op('f32x4.eq', 'v128.bitselect')
    .set(v.t);
  b.f32x4(Number.NEGATIVE_INFINITY).get(v.t, 0).f32x4(0).op('f32x4.eq', 'v128.bitselect').set(v.t);
  b.i32x4(0x7fffffff).get(v.t);
  b.get(0).f32x4(0).op('f32x4.lt').get(0, 0).op('f32x4.ne', 'v128.or', 'v128.bitselect');
}

/** Denormals to zero of the same sign. */
function flushDenormals(b: FunctionBuilder): void {
  b.get(0).i32x4(SIGN).op('v128.and').get(0);
  b.get(0).i32x4(MAGNITUDE).op('v128.and').i32x4(0x00800000).op('i32x4.lt_s', 'v128.bitselect');
}

function divide(signed: boolean): (b: FunctionBuilder) => void {
  const s = signed ? 's' : 'u';
  return (b) => {
    const quotient = b.local('v128');
    for (const half of [0, 1]) {
      for (const parameter of [0, 1]) {
        b.get(parameter);
        if (half === 1) b.i32x4(0).shuffle32([2, 3, 4, 5]);
        b.op(`f64x2.convert_low_i32x4_${s}`);
      }
      b.op('f64x2.div', 'f64x2.trunc', `i32x4.trunc_sat_f64x2_${s}_zero`);
    }
    b.shuffle32([0, 1, 4, 5]).set(quotient);
    if (signed) {
      // −2³¹ ÷ −1 wraps.
      b.get(0, quotient);
      b.get(0).i32x4(-0x80000000).op('i32x4.eq').get(1).i32x4(-1).op('i32x4.eq', 'v128.and');
      b.op('v128.bitselect').set(quotient);
    }
    b.i32x4(-1).get(quotient, 1).i32x4(0).op('i32x4.eq', 'v128.bitselect');
  };
}

/** Shifts each lane by its own amount, clamped to the width. */
function shiftLanes(kind: 'shl' | 'shr_s' | 'shr_u', type: 'i32' | 'i64'): (b: FunctionBuilder) => void {
  const [vector, lanes, bits] = type === 'i32' ? (['i32x4', 4, 32] as const) : (['i64x2', 2, 64] as const);
  return (b) => {
    const amount = b.local(type);
    const constant = (value: number) => (type === 'i32' ? b.i32(value) : b.i64(BigInt(value)));
    b.i32x4(0);
    for (let lane = 0; lane < lanes; lane++) {
      b.get(1).lane(`${vector}.extract_lane`, lane).set(amount);
      b.get(0).lane(`${vector}.extract_lane`, lane);
      const limit = kind === 'shr_s' ? bits - 1 : bits;
      b.get(amount);
      if (kind !== 'shr_s') b.op(`${type}.${kind}`);
      constant(kind === 'shr_s' ? limit : 0).get(amount);
      constant(limit).op(`${type}.lt_u`, 'select');
      if (kind === 'shr_s') b.op(`${type}.shr_s`);
      b.lane(`${vector}.replace_lane`, lane);
    }
  };
}

/**
 * Makes the sum on the stack round-to-odd, given the exact addends in locals `p` and `c`: where the rounded
 * sum is inexact and even it moves one place towards the true value. A later rounding to a narrower format
 * then equals a single rounding. Source: Boldo & Melquiond, "Emulation of FMA and correctly rounded sums".
 */
function roundSumToOdd(b: FunctionBuilder, type: 'f32x4' | 'f64x2', p: number, c: number): void {
  const ints = type === 'f32x4' ? 'i32x4' : 'i64x2';
  const [sum, back, error, step] = b.locals('v128', 4);
  const zero = () => b.i32x4(0);
  const one = () => (type === 'f32x4' ? b.i32x4(1) : b.i64x2(1n));
  b.set(sum);
  b.get(sum, p).op(`${type}.sub`).set(back);
  b.get(p, sum, back).op(`${type}.sub`, `${type}.sub`);
  b.get(c, back).op(`${type}.sub`, `${type}.add`).set(error);
  // step = +1 when the error has the sum's sign, else −1.
  b.get(sum, error)
    .op('v128.xor')
    .i32(type === 'f32x4' ? 31 : 63)
    .op(`${ints}.shr_s`);
  one();
  b.op('v128.or').set(step);
  b.get(sum, sum, step).op(`${ints}.add`);
  // Left alone (first operand) where exact, odd, or not finite.
  b.get(error);
  zero();
  b.op(`${type}.eq`).get(error, error).op(`${type}.ne`, 'v128.or');
  b.get(sum);
  one();
  b.op('v128.and');
  one();
  b.op(`${ints}.eq`, 'v128.or');
  b.op('v128.bitselect');
}

/** Pushes the two f64 lanes of an f32 vector's low or high half. */
function promote(b: FunctionBuilder, local: number, half: number): void {
  b.get(local);
  if (half === 1) b.i32x4(0).shuffle32([2, 3, 4, 5]);
  b.op('f64x2.promote_low_f32x4');
}

/** Both halves of a fused multiply-add: exact product in f64, sum rounded to odd, then as `narrow` makes an f32 of it. */
function fmaHalves(b: FunctionBuilder, p: Local, c: Local, narrow: () => void): FunctionBuilder {
  for (const half of [0, 1]) {
    promote(b, 0, half);
    promote(b, 1, half);
    b.op('f64x2.mul').set(p);
    promote(b, 2, half);
    b.set(c);
    b.get(p, c).op('f64x2.add');
    roundSumToOdd(b, 'f64x2', p, c);
    narrow();
  }
  return b.shuffle32([0, 1, 4, 5]);
}

/** f32 without an FMA instruction. */
const fmaThroughF64 = (b: FunctionBuilder) =>
  fmaHalves(b, b.local('v128'), b.local('v128'), () => b.op('f32x4.demote_f64x2_zero'));

/** f16: the product is exact in f32, so the sum rounded to odd in f32 rounds correctly to f16. */
function fmaF16(b: FunctionBuilder, helpers: Helpers): void {
  const p = b.get(0, 1).op('f32x4.mul').pop('v128');
  b.get(p, 2).op('f32x4.add');
  roundSumToOdd(b, 'f32x4', p, 2);
  helpers.emit(b, 'floatToHalf');
}

/** bf16: products may leave f32's range, so f64, then odd rounding to f32, then bf16. */
function fmaBf16(b: FunctionBuilder, helpers: Helpers): void {
  const [p, c, sum, single] = b.locals('v128', 4);
  fmaHalves(b, p, c, () => {
    // Odd rounding of f64 to f32: nearest, then forced odd towards the true value where inexact.
    b.set(sum);
    b.get(sum).op('f32x4.demote_f64x2_zero').set(single);
    forceOdd(b, sum, single);
  });
  helpers.emit(b, 'floatToBfloat');
}

/** Pushes `single`, made odd if converting it back does not give `wide`. */
function forceOdd(b: FunctionBuilder, wide: number, single: number): void {
  const [grow, inexact] = b.locals('v128', 2);
  const narrow = () => b.i32x4(0).shuffle32([0, 2, 4, 6]);
  // |wide| > |single|: the magnitude must grow by one place; smaller: shrink.
  b.get(wide).op('f64x2.abs').get(single).op('f64x2.promote_low_f32x4', 'f64x2.abs', 'f64x2.gt');
  narrow().set(grow);
  b.get(wide, single).op('f64x2.promote_low_f32x4', 'f64x2.ne');
  b.get(wide, wide).op('f64x2.eq', 'v128.and');
  narrow().set(inexact);
  b.get(single);
  b.i32x4(1).i32x4(-1).get(grow).op('v128.bitselect');
  b.get(inexact).op('v128.and');
  b.get(single).i32x4(1).op('v128.and').i32x4(0).op('i32x4.eq', 'v128.and');
  b.op('i32x4.add');
}

const HELPERS: Record<HelperName, Helper> = {
  fmaF32: { arity: 3, body: fmaThroughF64 },
  fmaF64: { arity: 3, body: (b) => b.get(0, 1, 2).op('f64x2.relaxed_madd') },
  fmaF16: { arity: 3, body: fmaF16 },
  fmaBf16: { arity: 3, body: fmaBf16 },
  halfToFloat: { arity: 1, body: (b) => pushHalfToFloat(b, 0) },
  floatToHalf: { arity: 1, body: floatToHalf },
  floatToBfloat: { arity: 1, body: floatToBfloat },
  exp2: { arity: 1, body: exp2 },
  log2: { arity: 1, body: log2 },
  sine: { arity: 1, body: sineOrCosine(0) },
  cosine: { arity: 1, body: sineOrCosine(1) },
  tanh: { arity: 1, body: (b, helpers) => hyperbolicTangent(b, (at) => helpers.emit(at, 'exp2')) },
  flushDenormals: { arity: 1, body: flushDenormals },
  divideSigned: { arity: 2, body: divide(true) },
  divideUnsigned: { arity: 2, body: divide(false) },
  shiftLeftLanes: { arity: 2, body: shiftLanes('shl', 'i32') },
  shiftRightLanes: { arity: 2, body: shiftLanes('shr_u', 'i32') },
  shiftRightSignedLanes: { arity: 2, body: shiftLanes('shr_s', 'i32') },
  shiftLeftDoubles: { arity: 2, body: shiftLanes('shl', 'i64') },
  shiftRightDoubles: { arity: 2, body: shiftLanes('shr_u', 'i64') },
  shiftRightSignedDoubles: { arity: 2, body: shiftLanes('shr_s', 'i64') },
};

/** Defines each helper in the module the first time it is used, and emits the calls. */
export class Helpers {
  #module: ModuleBuilder;
  /** Whether the host's relaxed multiply-add rounds once. */
  readonly fusedMultiplyAdd: boolean;
  #indices = new Map<HelperName, number>();

  constructor(module: ModuleBuilder, fusedMultiplyAdd: boolean) {
    this.#module = module;
    this.fusedMultiplyAdd = fusedMultiplyAdd;
  }

  /** Emits code that pops the helper's arguments and pushes its result. */
  emit(b: FunctionBuilder, name: HelperName): void {
    if (name === 'fmaF32' && this.fusedMultiplyAdd) b.op('f32x4.relaxed_madd');
    else if (name === 'halfToFloat') {
      // In every inner loop of a half-precision kernel: inlined.
      const source = b.pop('v128');
      pushHalfToFloat(b, source);
    } else b.call(this.#indexOf(name));
  }

  #indexOf(name: HelperName): number {
    const known = this.#indices.get(name);
    if (known !== undefined) return known;
    const { arity, body } = HELPERS[name];
    const parameters: ValueType[] = Array.from({ length: arity }, () => 'v128');
    const builder = this.#module.defineFunction({ parameters, results: ['v128'] }, true);
    this.#indices.set(name, builder.index);
    body(builder, this);
    return builder.index;
  }
}
