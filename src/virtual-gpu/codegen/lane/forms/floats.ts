import { f32Bits, type Local } from '../../../wasm/function-builder.ts';
import { type LaneContext, type LaneEmitter, parts, toParts, toWord, words } from '../context.ts';

const flushes = (e: LaneContext): boolean => e.instruction.modifiers.includes('ftz');

/** Pushes an f32 operand, denormals flushed to zero (sign kept) under `.ftz`. */
export function pushF32(e: LaneContext, index: number): void {
  e.word(index);
  if (flushes(e)) e.helper('flushDenormals');
}

export function setF32(e: LaneContext): void {
  if (flushes(e)) e.helper('flushDenormals');
  e.setWord();
}

/** Pushes f32 operands, one after the other. */
function floats(e: LaneContext, ...indices: readonly number[]) {
  for (const index of indices) pushF32(e, index);
  return e.b;
}

/** The emitter that stores what `push` leaves on the stack, denormals flushed under `.ftz`. */
const toF32 =
  (push: (e: LaneContext) => unknown): LaneEmitter =>
  (e) => {
    push(e);
    setF32(e);
  };

const f32Form = (op: string, ...operands: readonly number[]): LaneEmitter =>
  toF32((e) => floats(e, ...operands).op(`f32x4.${op}`));

const f64Form = (op: string, ...operands: readonly number[]): LaneEmitter =>
  toParts((e, part) => parts(e, part, ...operands).op(`f64x2.${op}`));

/** 2³² for each factor and 2⁶⁴ for an addend move products near the least normal value well into the range. */
const FACTOR_SCALE = 2 ** 32;
const SCALED_LEAST_NORMAL = 2 ** (64 - 126);

/**
 * Under `.ftz`: replaces the product (or fused sum) on the stack by a zero of its sign if, rounded with unbounded exponent,
 * it lies below the normal range. Flushing the rounded result instead would keep results that became normal only by
 * rounding to the coarser subnormal grid; the hardware flushes those, too.
 */
function flushTiny(e: LaneContext, hasAddend: boolean): void {
  if (!flushes(e)) return;
  const result = e.temporary(3);
  e.b.set(result);
  e.b.get(result).i32x4(f32Bits(-0)).op('v128.and').get(result);
  for (const index of [1, 2]) floats(e, index).f32x4(FACTOR_SCALE).op('f32x4.mul');
  if (hasAddend) {
    floats(e, 3)
      .f32x4(FACTOR_SCALE * FACTOR_SCALE)
      .op('f32x4.mul');
    e.helper('fmaF32');
  } else e.b.op('f32x4.mul');
  e.b.op('f32x4.abs').f32x4(SCALED_LEAST_NORMAL).op('f32x4.lt', 'v128.bitselect');
}

const multiplyF32 = toWord((e) => {
  floats(e, 1, 2).op('f32x4.mul');
  flushTiny(e, false);
});

type MinMax = 'min' | 'max';

/** Pushes the smaller or larger of two locals: a number wins over NaN, and −0 comes before +0. */
export function pushMinMax(e: LaneContext, unit: 'f32x4' | 'f64x2', op: MinMax, [a, b]: readonly Local[]): void {
  // When b is NaN take a, when a is NaN take b, else the ordered result.
  e.b.get(b!, a!, a!, b!).op(`${unit}.${op}`);
  e.b.get(b!, b!).op(`${unit}.ne`, 'v128.bitselect');
  e.b.get(a!, a!).op(`${unit}.ne`, 'v128.bitselect');
}

const f32MinMax = (op: MinMax): LaneEmitter =>
  toF32((e) => {
    const locals = [e.temporary(0), e.temporary(1)];
    for (const [i, local] of locals.entries()) floats(e, i + 1).set(local);
    pushMinMax(e, 'f32x4', op, locals);
  });

/** `.NaN`: NaN wins, as in WebAssembly. */
const f32MinMaxNan = (op: MinMax): LaneEmitter => toWord((e) => floats(e, 1, 2).op(`f32x4.${op}`));

/** Of the magnitudes, with the sign the product would have. */
const f32MinMaxMixedSigns = (op: MinMax, nanWins: boolean): LaneEmitter =>
  toWord((e) => {
    const [a, b] = [e.temporary(0), e.temporary(1)];
    for (const [i, local] of [a, b].entries()) {
      floats(e, i + 1)
        .op('f32x4.abs')
        .set(local);
    }
    if (nanWins) e.b.get(a, b).op(`f32x4.${op}`);
    else pushMinMax(e, 'f32x4', op, [a, b]);
    words(e, 1, 2).op('v128.xor').i32x4(f32Bits(-0)).op('v128.and', 'v128.or');
  });

const f64MinMax = (op: MinMax): LaneEmitter =>
  toParts((e, part) => {
    const locals = [e.temporary(0), e.temporary(1)];
    for (const [i, local] of locals.entries()) parts(e, part, i + 1).set(local);
    pushMinMax(e, 'f64x2', op, locals);
  });

const fmaF32 = toWord((e) => {
  floats(e, 1, 2, 3);
  e.helper('fmaF32');
  flushTiny(e, true);
});

const fmaF64 = toParts((e, part) => {
  parts(e, part, 1, 2, 3);
  e.helper('fmaF64');
});

/** A divisor beyond this has a subnormal reciprocal. */
const LARGEST_DIVISOR = 2 ** 126;

/**
 * GPUs multiply by a reciprocal and take a subnormal one for zero: what is divided by more than 2^126 becomes 0, and infinity NaN. Source: PTX ISA, div.approx.f32;
 * an H200 does so (docs/results/h200-instructions.json).
 */
const divideApproximately = toF32((e) => {
  const divisor = e.temporary(0);
  floats(e, 2).set(divisor);
  floats(e, 1);
  e.b.get(divisor).i32x4(f32Bits(-0)).op('v128.and').i32x4(f32Bits(Number.POSITIVE_INFINITY)).op('v128.or');
  e.b.get(divisor, divisor).op('f32x4.abs').f32x4(LARGEST_DIVISOR).op('f32x4.gt', 'v128.bitselect', 'f32x4.div');
});

const reciprocal = toF32((e) => {
  e.b.f32x4(1);
  floats(e, 1).op('f32x4.div');
});

const reciprocalF64 = toParts((e, part) => {
  e.b.i64x2(0x3ff0000000000000n);
  parts(e, part, 1).op('f64x2.div');
});

const rsqrt = toF32((e) => {
  e.b.f32x4(1);
  floats(e, 1).op('f32x4.sqrt', 'f32x4.div');
});

/** A helper of one f32 argument, e.g. ex2.approx. */
const viaHelper = (name: 'exp2' | 'log2' | 'sine' | 'cosine' | 'tanh'): LaneEmitter =>
  toF32((e) => {
    pushF32(e, 1);
    e.helper(name);
  });

/** `.sat`: clamps the f32 result to [0, 1], NaN to 0. */
export const saturated =
  (inner: LaneEmitter): LaneEmitter =>
  (e) =>
    inner({ ...e, setWord: (index) => setSaturated(e, index) });

function setSaturated(e: LaneContext, index?: number): void {
  const value = e.temporary(2);
  e.b.set(value);
  // max(−0, +0) is +0 in WebAssembly, as PTX wants.
  e.b.get(value).f32x4(0).op('f32x4.max').f32x4(1).op('f32x4.min');
  e.b.get(value, value).op('f32x4.eq', 'v128.and');
  e.setWord(index);
}

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const op of ['add', 'sub', 'mul', 'div']) {
    forms.set(`${op}.f32`, f32Form(op, 1, 2));
    forms.set(`${op}.f64`, f64Form(op, 1, 2));
  }
  forms.set('mul.f32', multiplyF32);
  forms.set('div.approx.f32', divideApproximately);
  for (const op of ['neg', 'abs']) {
    forms.set(`${op}.f32`, f32Form(op, 1));
    forms.set(`${op}.f64`, f64Form(op, 1));
  }
  forms.set('sqrt.f32', f32Form('sqrt', 1));
  forms.set('sqrt.approx.f32', f32Form('sqrt', 1));
  forms.set('sqrt.f64', f64Form('sqrt', 1));
  for (const op of ['min', 'max'] as const) {
    forms.set(`${op}.f32`, f32MinMax(op));
    forms.set(`${op}.f64`, f64MinMax(op));
    forms.set(`${op}.NaN.f32`, f32MinMaxNan(op));
    forms.set(`${op}.xorsign.abs.f32`, f32MinMaxMixedSigns(op, false));
    forms.set(`${op}.NaN.xorsign.abs.f32`, f32MinMaxMixedSigns(op, true));
  }
  for (const op of ['fma', 'mad']) {
    forms.set(`${op}.f32`, fmaF32);
    forms.set(`${op}.f64`, fmaF64);
    forms.set(`${op}.sat.f32`, saturated(fmaF32));
  }
  forms.set('rcp.f32', reciprocal);
  forms.set('rcp.approx.f32', reciprocal);
  forms.set('rcp.f64', reciprocalF64);
  forms.set('rsqrt.approx.f32', rsqrt);
  for (const [op, helper] of [
    ['ex2', 'exp2'],
    ['lg2', 'log2'],
    ['sin', 'sine'],
    ['cos', 'cosine'],
    ['tanh', 'tanh'],
  ] as const)
    forms.set(`${op}.approx.f32`, viaHelper(helper));
  for (const op of ['add', 'sub']) forms.set(`${op}.sat.f32`, saturated(f32Form(op, 1, 2)));
  forms.set('mul.sat.f32', saturated(multiplyF32));
  // copysign(a, b): magnitude of b, sign of a.
  forms.set(
    'copysign.f64',
    toParts((e, part) =>
      parts(e, part, 1, 2)
        .i64x2(1n << 63n)
        .op('v128.bitselect'),
    ),
  );
  forms.set(
    'copysign.f32',
    toWord((e) => words(e, 1, 2).i32x4(f32Bits(-0)).op('v128.bitselect')),
  );
  return forms;
}

export const FLOAT_FORMS: ReadonlyMap<string, LaneEmitter> = build();
