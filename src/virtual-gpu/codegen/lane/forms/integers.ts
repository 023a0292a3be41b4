import { type LaneContext, type LaneEmitter, PARTS } from '../context.ts';

const WORD_TYPES = ['s32', 'u32', 'b32'];
const HALF_TYPES = ['s16', 'u16', 'b16'];
const DOUBLE_TYPES = ['s64', 'u64', 'b64'];

/** Two-operand word instruction. */
const word2 =
  (op: string): LaneEmitter =>
  (e) => {
    e.word(1);
    e.word(2);
    e.b.op(op);
    e.setWord();
  };

const double2 =
  (op: string): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.part(2, part);
      e.b.op(op);
      e.setPart(part);
    }
  };

const word1 =
  (op: string): LaneEmitter =>
  (e) => {
    e.word(1);
    e.b.op(op);
    e.setWord();
  };

const double1 =
  (op: string): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.b.op(op);
      e.setPart(part);
    }
  };

/** Pushes a 16-bit operand sign-extended to 32 bits. */
export function signedHalf(e: LaneContext, index: number): void {
  e.word(index);
  e.b.i32(16).op('i32x4.shl').i32(16).op('i32x4.shr_s');
}

/** Pops a 32-bit value, keeps its low 16 bits. */
export function setHalf(e: LaneContext): void {
  e.b.i32x4(0xffff).op('v128.and');
  e.setWord();
}

const half2 =
  (op: string, signed: boolean): LaneEmitter =>
  (e) => {
    for (const index of [1, 2]) {
      if (signed) signedHalf(e, index);
      else e.word(index);
    }
    e.b.op(op);
    setHalf(e);
  };

/** Signed or unsigned minimum and maximum of 64-bit lanes: no such SIMD instruction, so compare and select. */
const double2Select =
  (pickFirstWhen: 'lt' | 'gt', signed: boolean): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.part(2, part);
      pushDoubleComparable(e, 1, part, signed);
      pushDoubleComparable(e, 2, part, signed);
      e.b.op(`i64x2.${pickFirstWhen}_s`).op('v128.bitselect');
      e.setPart(part);
    }
  };

/** Unsigned 64-bit order is signed order with the sign bit flipped. */
export function pushDoubleComparable(e: LaneContext, index: number, part: 0 | 1, signed: boolean): void {
  e.part(index, part);
  if (!signed) e.b.i64x2(1n << 63n).op('v128.xor');
}

const wide =
  (signed: boolean): LaneEmitter =>
  (e) => {
    const suffix = signed ? 's' : 'u';
    for (const part of PARTS) {
      e.word(1);
      e.word(2);
      e.b.op(`i64x2.extmul_${part === 0 ? 'low' : 'high'}_i32x4_${suffix}`);
      e.setPart(part);
    }
  };

const madWide =
  (signed: boolean): LaneEmitter =>
  (e) => {
    const suffix = signed ? 's' : 'u';
    for (const part of PARTS) {
      e.word(1);
      e.word(2);
      e.b.op(`i64x2.extmul_${part === 0 ? 'low' : 'high'}_i32x4_${suffix}`);
      e.part(3, part);
      e.b.op('i64x2.add');
      e.setPart(part);
    }
  };

const wideHalf =
  (signed: boolean): LaneEmitter =>
  (e) => {
    for (const index of [1, 2]) {
      if (signed) signedHalf(e, index);
      else e.word(index);
    }
    e.b.op('i32x4.mul');
    e.setWord();
  };

/** Upper 32 bits of the 64-bit products. */
function pushHigh(e: LaneContext, signed: boolean): void {
  const suffix = signed ? 's' : 'u';
  for (const half of ['low', 'high']) {
    e.word(1);
    e.word(2);
    e.b.op(`i64x2.extmul_${half}_i32x4_${suffix}`);
  }
  e.b.shuffle32([1, 3, 5, 7]);
}

const mad: LaneEmitter = (e) => {
  e.word(1);
  e.word(2);
  e.b.op('i32x4.mul');
  e.word(3);
  e.b.op('i32x4.add');
  e.setWord();
};

const madDouble: LaneEmitter = (e) => {
  for (const part of PARTS) {
    e.part(1, part);
    e.part(2, part);
    e.b.op('i64x2.mul');
    e.part(3, part);
    e.b.op('i64x2.add');
    e.setPart(part);
  }
};

const madHalf: LaneEmitter = (e) => {
  e.word(1);
  e.word(2);
  e.b.op('i32x4.mul');
  e.word(3);
  e.b.op('i32x4.add');
  setHalf(e);
};

const notHalf: LaneEmitter = (e) => {
  e.word(1);
  e.b.op('v128.not');
  setHalf(e);
};

const negHalf: LaneEmitter = (e) => {
  e.word(1);
  e.b.op('i32x4.neg');
  setHalf(e);
};

/** Division through float64: exact for 32-bit operands, since a non-integer quotient is ≥ 2⁻³² (relative) away
 * from an integer. Division by zero gives all ones, as the hardware does. */
const division =
  (signed: boolean, remainder: boolean): LaneEmitter =>
  (e) => {
    e.word(1);
    e.word(2);
    e.helper(signed ? 'divideSigned' : 'divideUnsigned');
    if (remainder) {
      const quotient = e.temporary(0);
      e.b.set(quotient);
      e.word(1);
      e.b.get(quotient);
      e.word(2);
      e.b.op('i32x4.mul').op('i32x4.sub');
    }
    e.setWord();
  };

const sad =
  (signed: boolean): LaneEmitter =>
  (e) => {
    const s = signed ? 's' : 'u';
    for (const op of [`i32x4.max_${s}`, `i32x4.min_${s}`]) {
      e.word(1);
      e.word(2);
      e.b.op(op);
    }
    e.b.op('i32x4.sub');
    e.word(3);
    e.b.op('i32x4.add');
    e.setWord();
  };

/** Pushes a 16-bit operand extended by its sign. */
function pushHalf(e: LaneContext, index: number, signed: boolean): void {
  if (signed) signedHalf(e, index);
  else e.word(index);
}

/** 16-bit factors with 32-bit products; `.wide` adds a word, `.hi` a half to the upper half. */
const madHalfWide =
  (signed: boolean): LaneEmitter =>
  (e) => {
    pushHalf(e, 1, signed);
    pushHalf(e, 2, signed);
    e.b.op('i32x4.mul');
    e.word(3);
    e.b.op('i32x4.add');
    e.setWord();
  };

const madHalfHigh =
  (signed: boolean): LaneEmitter =>
  (e) => {
    pushHalf(e, 1, signed);
    pushHalf(e, 2, signed);
    e.b.op('i32x4.mul').i32(16).op('i32x4.shr_u');
    e.word(3);
    e.b.op('i32x4.add');
    setHalf(e);
  };

/** |a − b| + c of 16-bit values. */
const sadHalf =
  (signed: boolean): LaneEmitter =>
  (e) => {
    pushHalf(e, 1, signed);
    pushHalf(e, 2, signed);
    e.b.op('i32x4.sub').op('i32x4.abs');
    e.word(3);
    e.b.op('i32x4.add');
    setHalf(e);
  };

const divisionHalf =
  (signed: boolean, remainder: boolean): LaneEmitter =>
  (e) => {
    pushHalf(e, 1, signed);
    pushHalf(e, 2, signed);
    e.helper(signed ? 'divideSigned' : 'divideUnsigned');
    if (remainder) {
      const quotient = e.temporary(0);
      e.b.set(quotient);
      pushHalf(e, 1, signed);
      e.b.get(quotient);
      pushHalf(e, 2, signed);
      e.b.op('i32x4.mul').op('i32x4.sub');
    }
    setHalf(e);
  };

const absHalf: LaneEmitter = (e) => {
  signedHalf(e, 1);
  e.b.op('i32x4.abs');
  setHalf(e);
};

/** Saturating sum or difference. */
const saturating =
  (op: 'add' | 'sub'): LaneEmitter =>
  (e) => {
    const [a, result] = [e.temporary(0), e.temporary(1)];
    e.word(1);
    e.b.tee(a);
    e.word(2);
    e.b.op(`i32x4.${op}`).set(result);
    // The limit on a's side of zero …
    e.b.get(a).i32(31).op('i32x4.shr_s').i32x4(0x7fffffff).op('v128.xor').get(result);
    // … if the result's sign differs from a's in a way that b's sign does not allow.
    e.b.get(a).get(result).op('v128.xor').get(a);
    e.word(2);
    e.b.op('v128.xor');
    if (op === 'add') e.b.op('v128.not');
    e.b.op('v128.and').i32(31).op('i32x4.shr_s').op('v128.bitselect');
    e.setWord();
  };

/** `.relu`: results below zero are zero. */
const rectified =
  (op: 'min_s' | 'max_s'): LaneEmitter =>
  (e) => {
    e.word(1);
    e.word(2);
    e.b.op(`i32x4.${op}`).i32x4(0).op('i32x4.max_s');
    e.setWord();
  };

/** Pushes a factor of mul24: its low 24 bits, extended. */
function push24(e: LaneContext, index: number, signed: boolean): void {
  e.word(index);
  e.b
    .i32(8)
    .op('i32x4.shl')
    .i32(8)
    .op(signed ? 'i32x4.shr_s' : 'i32x4.shr_u');
}

/** 24-bit products: `.lo` is bits 0 … 31, `.hi` bits 16 … 47. */
function product24(e: LaneContext, signed: boolean, high: boolean): void {
  if (!high) {
    push24(e, 1, signed);
    push24(e, 2, signed);
    e.b.op('i32x4.mul');
    return;
  }
  for (const half of ['low', 'high']) {
    push24(e, 1, signed);
    push24(e, 2, signed);
    e.b
      .op(`i64x2.extmul_${half}_i32x4_${signed ? 's' : 'u'}`)
      .i32(16)
      .op('i64x2.shr_u');
  }
  e.b.shuffle32([0, 2, 4, 6]);
}

const multiply24 =
  (signed: boolean, high: boolean, adds: boolean): LaneEmitter =>
  (e) => {
    product24(e, signed, high);
    if (adds) {
      e.word(3);
      e.b.op('i32x4.add');
    }
    e.setWord();
  };

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const [op, simd] of [
    ['add', 'add'],
    ['sub', 'sub'],
    ['mul.lo', 'mul'],
  ] as const) {
    for (const type of WORD_TYPES) forms.set(`${op}.${type}`, word2(`i32x4.${simd}`));
    for (const type of DOUBLE_TYPES) forms.set(`${op}.${type}`, double2(`i64x2.${simd}`));
    for (const type of HALF_TYPES) forms.set(`${op}.${type}`, half2(`i32x4.${simd}`, false));
  }
  for (const op of ['and', 'or', 'xor']) {
    forms.set(`${op}.b32`, word2(`v128.${op}`));
    forms.set(`${op}.b16`, word2(`v128.${op}`));
    forms.set(`${op}.b64`, double2(`v128.${op}`));
  }
  for (const op of ['min', 'max'] as const) {
    forms.set(`${op}.s32`, word2(`i32x4.${op}_s`));
    forms.set(`${op}.u32`, word2(`i32x4.${op}_u`));
    forms.set(`${op}.s16`, half2(`i32x4.${op}_s`, true));
    forms.set(`${op}.u16`, half2(`i32x4.${op}_u`, false));
    forms.set(`${op}.s64`, double2Select(op === 'min' ? 'lt' : 'gt', true));
    forms.set(`${op}.u64`, double2Select(op === 'min' ? 'lt' : 'gt', false));
  }
  forms.set('not.b32', word1('v128.not'));
  forms.set('not.b64', double1('v128.not'));
  forms.set('not.b16', notHalf);
  forms.set('neg.s32', word1('i32x4.neg'));
  forms.set('neg.s64', double1('i64x2.neg'));
  forms.set('neg.s16', negHalf);
  forms.set('abs.s32', word1('i32x4.abs'));
  forms.set('abs.s64', double1('i64x2.abs'));
  forms.set('abs.s16', absHalf);
  for (const op of ['add', 'sub'] as const) forms.set(`${op}.sat.s32`, saturating(op));
  for (const op of ['min', 'max'] as const) forms.set(`${op}.relu.s32`, rectified(`${op}_s`));
  for (const [s, signed] of [
    ['s', true],
    ['u', false],
  ] as const) {
    forms.set(`mul.wide.${s}32`, wide(signed));
    forms.set(`mad.wide.${s}32`, madWide(signed));
    forms.set(`mul.wide.${s}16`, wideHalf(signed));
    forms.set(`mul.hi.${s}16`, (e) => {
      for (const index of [1, 2]) {
        if (signed) signedHalf(e, index);
        else e.word(index);
      }
      e.b.op('i32x4.mul').i32(16).op('i32x4.shr_u');
      e.setWord();
    });
    forms.set(`mul.hi.${s}32`, (e) => {
      pushHigh(e, signed);
      e.setWord();
    });
    forms.set(`mad.hi.${s}32`, (e) => {
      pushHigh(e, signed);
      e.word(3);
      e.b.op('i32x4.add');
      e.setWord();
    });
    forms.set(`mad.lo.${s}32`, mad);
    forms.set(`mad.lo.${s}64`, madDouble);
    forms.set(`mad.lo.${s}16`, madHalf);
    forms.set(`div.${s}32`, division(signed, false));
    forms.set(`rem.${s}32`, division(signed, true));
    forms.set(`sad.${s}32`, sad(signed));
    forms.set(`sad.${s}16`, sadHalf(signed));
    forms.set(`mad.wide.${s}16`, madHalfWide(signed));
    forms.set(`mad.hi.${s}16`, madHalfHigh(signed));
    forms.set(`div.${s}16`, divisionHalf(signed, false));
    forms.set(`rem.${s}16`, divisionHalf(signed, true));
    for (const half of ['lo', 'hi']) {
      forms.set(`mul24.${half}.${s}32`, multiply24(signed, half === 'hi', false));
      forms.set(`mad24.${half}.${s}32`, multiply24(signed, half === 'hi', true));
    }
  }
  return forms;
}

export const INTEGER_FORMS: ReadonlyMap<string, LaneEmitter> = build();
