import { f32Bits } from '../../../wasm/function-builder.ts';
import { type LaneContext, type LaneEmitter, PARTS } from '../context.ts';

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

const f32Binary =
  (op: string): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    pushF32(e, 2);
    e.b.op(`f32x4.${op}`);
    setF32(e);
  };

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
  for (const index of [1, 2]) {
    pushF32(e, index);
    e.b.f32x4(FACTOR_SCALE).op('f32x4.mul');
  }
  if (hasAddend) {
    pushF32(e, 3);
    e.b.f32x4(FACTOR_SCALE * FACTOR_SCALE).op('f32x4.mul');
    e.helper('fmaF32');
  } else e.b.op('f32x4.mul');
  e.b.op('f32x4.abs').f32x4(SCALED_LEAST_NORMAL).op('f32x4.lt').op('v128.bitselect');
}

const multiplyF32: LaneEmitter = (e) => {
  pushF32(e, 1);
  pushF32(e, 2);
  e.b.op('f32x4.mul');
  flushTiny(e, false);
  e.setWord();
};

const f32Unary =
  (op: string): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    e.b.op(`f32x4.${op}`);
    setF32(e);
  };

const f64Binary =
  (op: string): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.part(2, part);
      e.b.op(`f64x2.${op}`);
      e.setPart(part);
    }
  };

const f64Unary =
  (op: string): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.b.op(`f64x2.${op}`);
      e.setPart(part);
    }
  };

/** PTX min and max return the other operand when one is NaN, and order −0 before +0. */
const f32MinMax =
  (op: 'min' | 'max'): LaneEmitter =>
  (e) => {
    const [a, b] = [e.temporary(0), e.temporary(1)];
    pushF32(e, 1);
    e.b.set(a);
    pushF32(e, 2);
    e.b.set(b);
    // When b is NaN take a, when a is NaN take b, else the ordered result.
    e.b.get(b).get(a).get(a).get(b).op(`f32x4.${op}`);
    e.b.get(b).get(b).op('f32x4.ne').op('v128.bitselect');
    e.b.get(a).get(a).op('f32x4.ne').op('v128.bitselect');
    setF32(e);
  };

/** `.NaN`: NaN wins, as in WebAssembly. */
const f32MinMaxNan =
  (op: 'min' | 'max'): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    pushF32(e, 2);
    e.b.op(`f32x4.${op}`);
    e.setWord();
  };

/** Of the magnitudes, with the sign the product would have. */
const f32MinMaxMixedSigns =
  (op: 'min' | 'max', nanWins: boolean): LaneEmitter =>
  (e) => {
    const [a, b] = [e.temporary(0), e.temporary(1)];
    for (const [i, local] of [a, b].entries()) {
      pushF32(e, i + 1);
      e.b.op('f32x4.abs').set(local);
    }
    if (nanWins) e.b.get(a).get(b).op(`f32x4.${op}`);
    else {
      e.b.get(b).get(a).get(a).get(b).op(`f32x4.${op}`);
      e.b.get(b).get(b).op('f32x4.ne').op('v128.bitselect');
      e.b.get(a).get(a).op('f32x4.ne').op('v128.bitselect');
    }
    e.word(1);
    e.word(2);
    e.b.op('v128.xor').i32x4(f32Bits(-0)).op('v128.and').op('v128.or');
    e.setWord();
  };

const f64MinMax =
  (op: 'min' | 'max'): LaneEmitter =>
  (e) => {
    const [a, b] = [e.temporary(0), e.temporary(1)];
    for (const part of PARTS) {
      e.part(1, part);
      e.b.set(a);
      e.part(2, part);
      e.b.set(b);
      e.b.get(b).get(a).get(a).get(b).op(`f64x2.${op}`);
      e.b.get(b).get(b).op('f64x2.ne').op('v128.bitselect');
      e.b.get(a).get(a).op('f64x2.ne').op('v128.bitselect');
      e.setPart(part);
    }
  };

const fmaF32: LaneEmitter = (e) => {
  for (const index of [1, 2, 3]) pushF32(e, index);
  e.helper('fmaF32');
  flushTiny(e, true);
  e.setWord();
};

const fmaF64: LaneEmitter = (e) => {
  for (const part of PARTS) {
    for (const index of [1, 2, 3]) e.part(index, part);
    e.helper('fmaF64');
    e.setPart(part);
  }
};

const reciprocal: LaneEmitter = (e) => {
  e.b.f32x4(1);
  pushF32(e, 1);
  e.b.op('f32x4.div');
  setF32(e);
};

const reciprocalF64: LaneEmitter = (e) => {
  for (const part of PARTS) {
    e.b.i64x2(0x3ff0000000000000n);
    e.part(1, part);
    e.b.op('f64x2.div');
    e.setPart(part);
  }
};

const rsqrt: LaneEmitter = (e) => {
  e.b.f32x4(1);
  pushF32(e, 1);
  e.b.op('f32x4.sqrt').op('f32x4.div');
  setF32(e);
};

/** A helper of one f32 argument, e.g. ex2.approx. */
const viaHelper =
  (name: 'exp2' | 'log2' | 'sine' | 'cosine' | 'tanh'): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    e.helper(name);
    setF32(e);
  };

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
  e.b.get(value).get(value).op('f32x4.eq').op('v128.and');
  e.setWord(index);
}

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const op of ['add', 'sub', 'mul', 'div']) {
    forms.set(`${op}.f32`, f32Binary(op));
    forms.set(`${op}.f64`, f64Binary(op));
  }
  forms.set('mul.f32', multiplyF32);
  forms.set('div.approx.f32', f32Binary('div'));
  for (const op of ['neg', 'abs']) {
    forms.set(`${op}.f32`, f32Unary(op));
    forms.set(`${op}.f64`, f64Unary(op));
  }
  forms.set('sqrt.f32', f32Unary('sqrt'));
  forms.set('sqrt.approx.f32', f32Unary('sqrt'));
  forms.set('sqrt.f64', f64Unary('sqrt'));
  for (const op of ['min', 'max'] as const) {
    forms.set(`${op}.f32`, f32MinMax(op));
    forms.set(`${op}.f64`, f64MinMax(op));
    forms.set(`${op}.NaN.f32`, f32MinMaxNan(op));
    forms.set(`${op}.xorsign.abs.f32`, f32MinMaxMixedSigns(op, false));
    forms.set(`${op}.NaN.xorsign.abs.f32`, f32MinMaxMixedSigns(op, true));
  }
  forms.set('fma.f32', fmaF32);
  forms.set('fma.f64', fmaF64);
  forms.set('mad.f32', fmaF32);
  forms.set('mad.f64', fmaF64);
  forms.set('rcp.f32', reciprocal);
  forms.set('rcp.approx.f32', reciprocal);
  forms.set('rcp.f64', reciprocalF64);
  forms.set('rsqrt.approx.f32', rsqrt);
  forms.set('ex2.approx.f32', viaHelper('exp2'));
  forms.set('lg2.approx.f32', viaHelper('log2'));
  forms.set('sin.approx.f32', viaHelper('sine'));
  forms.set('cos.approx.f32', viaHelper('cosine'));
  forms.set('tanh.approx.f32', viaHelper('tanh'));
  for (const op of ['add', 'sub']) forms.set(`${op}.sat.f32`, saturated(f32Binary(op)));
  forms.set('mul.sat.f32', saturated(multiplyF32));
  forms.set('fma.sat.f32', saturated(fmaF32));
  forms.set('mad.sat.f32', saturated(fmaF32));
  forms.set('copysign.f64', (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.part(2, part);
      e.b.i64x2(1n << 63n).op('v128.bitselect');
      e.setPart(part);
    }
  });
  forms.set('copysign.f32', (e) => {
    // copysign(a, b): magnitude of b, sign of a.
    e.word(1);
    e.word(2);
    e.b.i32x4(f32Bits(-0)).op('v128.bitselect');
    e.setWord();
  });
  return forms;
}

export const FLOAT_FORMS: ReadonlyMap<string, LaneEmitter> = build();
