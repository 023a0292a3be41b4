import { type FunctionBuilder, f32Bits, type Local } from '../../wasm/function-builder.ts';

/** Pushes c₀xⁿ + … + cₙ by Horner's rule. */
function pushPolynomial(b: FunctionBuilder, x: Local, coefficients: readonly number[]): void {
  b.f32x4(coefficients[0]!);
  for (const coefficient of coefficients.slice(1)) b.get(x).op('f32x4.mul').f32x4(coefficient).op('f32x4.add');
}

/**
 * π/2 in three parts of few bits, so that n times each is exact while |n| < 2¹⁶.
 * Source: Cody & Waite, "Software Manual for the Elementary Functions" (1980); constants as in Cephes (S. Moshier).
 */
const HALF_PI = [1.5703125, 4.837512969970703e-4, 7.549789948768648e-8] as const;

/** sin r and cos r on [−π/4, π/4] within 2⁻²⁴, in powers of r². Source: Cephes, sinf.c. */
const SINE = [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1];
const COSINE = [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2];

/** Below this sin x = x. */
const TINY = 2 ** -12;

/**
 * sin (quarterTurns 0) or cos (1) of an f32 vector: absolute error below 2⁻²² up to |x| = 10⁵; beyond, some value in
 * [−1, 1]. NaN for infinities.
 */
export function sineOrCosine(quarterTurns: 0 | 1): (b: FunctionBuilder) => void {
  return (b) => {
    const names = ['n', 'r', 'r2', 'sine', 'quadrant', 'result'] as const;
    const v = Object.fromEntries(names.map((name) => [name, b.local('v128')])) as Record<(typeof names)[number], Local>;
    b.get(0)
      .f32x4(2 / Math.PI)
      .op('f32x4.mul', 'f32x4.nearest')
      .set(v.n);
    b.get(0);
    for (const part of HALF_PI) b.get(v.n).f32x4(part).op('f32x4.mul', 'f32x4.sub');
    b.f32x4(-1).op('f32x4.max').f32x4(1).op('f32x4.min').tee(v.r).get(v.r).op('f32x4.mul').set(v.r2);
    b.get(v.n).op('i32x4.trunc_sat_f32x4_s').i32x4(quarterTurns).op('i32x4.add').set(v.quadrant);
    pushPolynomial(b, v.r2, SINE);
    b.get(v.r2).op('f32x4.mul').get(v.r).op('f32x4.mul').get(v.r).op('f32x4.add').set(v.sine);
    // cos r = 1 − r²/2 + r⁴ (…)
    pushPolynomial(b, v.r2, COSINE);
    b.get(v.r2).op('f32x4.mul').get(v.r2).op('f32x4.mul');
    b.get(v.r2).f32x4(0.5).op('f32x4.mul', 'f32x4.sub').f32x4(1).op('f32x4.add');
    // Odd quadrants take the cosine, the upper two change sign.
    b.get(v.sine, v.quadrant).i32x4(1).op('v128.and').i32x4(0).op('i32x4.ne', 'v128.bitselect');
    b.get(v.quadrant).i32(30).op('i32x4.shl').i32x4(f32Bits(-0)).op('v128.and', 'v128.xor').set(v.result);
    if (quarterTurns === 1) {
      b.get(v.result);
      return;
    }
    b.get(0, v.result, 0).op('f32x4.abs').f32x4(TINY).op('f32x4.lt', 'v128.bitselect');
  };
}

/** tanh x ≈ x + x³ (…) below 0.625, in powers of x². Source: Cephes, tanhf.c. */
const TANH = [-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1];
const TANH_SWITCH = 0.625;

/** tanh within 2⁻²² (relative): a polynomial near 0, else 1 − 2 ÷ (e^2|x| + 1). */
export function hyperbolicTangent(b: FunctionBuilder, emitExp2: (b: FunctionBuilder) => void): void {
  const [size, square] = b.locals('v128', 2);
  b.get(0).op('f32x4.abs').set(size);
  b.get(0, 0).op('f32x4.mul').set(square);
  pushPolynomial(b, square, TANH);
  b.get(square).op('f32x4.mul').get(0).op('f32x4.mul').get(0).op('f32x4.add');
  b.f32x4(1).f32x4(2);
  b.get(size)
    .f32x4(2 * Math.LOG2E)
    .op('f32x4.mul');
  emitExp2(b);
  b.f32x4(1).op('f32x4.add', 'f32x4.div', 'f32x4.sub');
  b.get(0).i32x4(f32Bits(-0)).op('v128.and', 'v128.or');
  b.get(size).f32x4(TANH_SWITCH).op('f32x4.lt', 'v128.bitselect');
}
