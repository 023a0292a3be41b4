import { type LaneContext, type LaneEmitter, type Part, parts, toParts, toWord, words } from '../context.ts';

const WORD_TYPES = ['s32', 'u32', 'b32'];
const HALF_TYPES = ['s16', 'u16', 'b16'];
const DOUBLE_TYPES = ['s64', 'u64', 'b64'];

/** `_s` or `_u`, with which SIMD instructions say how they read their operands. */
const suffix = (signed: boolean): string => (signed ? '_s' : '_u');

/** An instruction of these word operands. */
const ofWords = (op: string, ...operands: readonly number[]): LaneEmitter =>
  toWord((e) => words(e, ...operands).op(op));

const ofDoubles = (op: string, ...operands: readonly number[]): LaneEmitter =>
  toParts((e, part) => parts(e, part, ...operands).op(op));

/** Pushes a 16-bit operand sign-extended to 32 bits. */
export function signedHalf(e: LaneContext, index: number): void {
  e.word(index);
  e.b.i32(16).op('i32x4.shl').i32(16).op('i32x4.shr_s');
}

/** Pushes 16-bit operands extended by their sign, or by zeros. */
export function halves(e: LaneContext, signed: boolean, ...indices: readonly number[]) {
  for (const index of indices) {
    if (signed) signedHalf(e, index);
    else e.word(index);
  }
  return e.b;
}

/** Pops a 32-bit value, keeps its low 16 bits. */
export function setHalf(e: LaneContext): void {
  e.b.i32x4(0xffff).op('v128.and');
  e.setWord();
}

/** The emitter that stores the low 16 bits of what `push` leaves on the stack. */
const toHalf =
  (push: (e: LaneContext) => unknown): LaneEmitter =>
  (e) => {
    push(e);
    setHalf(e);
  };

const ofHalves = (op: string, signed: boolean, ...operands: readonly number[]): LaneEmitter =>
  toHalf((e) => halves(e, signed, ...operands).op(op));

/** Signed or unsigned minimum and maximum of 64-bit lanes: no such SIMD instruction, so compare and select. */
const double2Select = (pickFirstWhen: 'lt' | 'gt', signed: boolean): LaneEmitter =>
  toParts((e, part) => {
    parts(e, part, 1, 2);
    pushDoubleComparable(e, 1, part, signed);
    pushDoubleComparable(e, 2, part, signed);
    e.b.op(`i64x2.${pickFirstWhen}_s`, 'v128.bitselect');
  });

/** Unsigned 64-bit order is signed order with the sign bit flipped. */
export function pushDoubleComparable(e: LaneContext, index: number, part: Part, signed: boolean): void {
  e.part(index, part);
  if (!signed) e.b.i64x2(1n << 63n).op('v128.xor');
}

/** Pushes 64-bit products of words. */
const wideProduct = (e: LaneContext, part: Part, signed: boolean) =>
  words(e, 1, 2).op(`i64x2.extmul_${part === 0 ? 'low' : 'high'}_i32x4${suffix(signed)}`);

const wide = (signed: boolean): LaneEmitter => toParts((e, part) => wideProduct(e, part, signed));

const madWide = (signed: boolean): LaneEmitter =>
  toParts((e, part) => {
    wideProduct(e, part, signed);
    parts(e, part, 3).op('i64x2.add');
  });

/** Pushes the upper 32 bits of the 64-bit products. */
function highProduct(e: LaneContext, signed: boolean) {
  wideProduct(e, 0, signed);
  return wideProduct(e, 1, signed).shuffle32([1, 3, 5, 7]);
}

const product = (e: LaneContext) => words(e, 1, 2).op('i32x4.mul');

/** Pushes 32-bit products of halves. */
const halfProduct = (e: LaneContext, signed: boolean) => halves(e, signed, 1, 2).op('i32x4.mul');

const highHalfProduct = (e: LaneContext, signed: boolean) => halfProduct(e, signed).i32(16).op('i32x4.shr_u');

/** What `push` leaves on the stack and operand 3 added. */
const plusThird =
  (push: (e: LaneContext) => unknown) =>
  (e: LaneContext): void => {
    push(e);
    words(e, 3).op('i32x4.add');
  };

const madDouble = toParts((e, part) => {
  parts(e, part, 1, 2).op('i64x2.mul');
  parts(e, part, 3).op('i64x2.add');
});

/** Division through float64: exact for 32-bit operands, since a non-integer quotient is ≥ 2⁻³² (relative) away
 * from an integer. Division by zero gives all ones, as the hardware does. `push` pushes operands. */
function quotient(
  e: LaneContext,
  push: (...indices: readonly number[]) => unknown,
  signed: boolean,
  remainder: boolean,
): void {
  push(1, 2);
  e.helper(signed ? 'divideSigned' : 'divideUnsigned');
  if (!remainder) return;
  const divided = e.temporary(0);
  e.b.set(divided);
  push(1);
  e.b.get(divided);
  push(2);
  e.b.op('i32x4.mul', 'i32x4.sub');
}

const division = (signed: boolean, remainder: boolean): LaneEmitter =>
  toWord((e) => quotient(e, (...indices) => words(e, ...indices), signed, remainder));

const divisionHalf = (signed: boolean, remainder: boolean): LaneEmitter =>
  toHalf((e) => quotient(e, (...indices) => halves(e, signed, ...indices), signed, remainder));

/** |a − b| + c. */
const sad = (signed: boolean): LaneEmitter =>
  toWord(
    plusThird((e) => {
      for (const op of ['max', 'min']) words(e, 1, 2).op(`i32x4.${op}${suffix(signed)}`);
      e.b.op('i32x4.sub');
    }),
  );

/** The same of 16-bit values. */
const sadHalf = (signed: boolean): LaneEmitter =>
  toHalf(plusThird((e) => halves(e, signed, 1, 2).op('i32x4.sub', 'i32x4.abs')));

/** Saturating sum or difference. */
const saturating = (op: 'add' | 'sub'): LaneEmitter =>
  toWord((e) => {
    const [a, result] = [e.temporary(0), e.temporary(1)];
    words(e, 1).tee(a);
    words(e, 2).op(`i32x4.${op}`).set(result);
    // The limit on a's side of zero …
    e.b.get(a).i32(31).op('i32x4.shr_s').i32x4(0x7fffffff).op('v128.xor').get(result);
    // … if the result's sign differs from a's in a way that b's sign does not allow.
    e.b.get(a, result).op('v128.xor').get(a);
    words(e, 2).op('v128.xor');
    if (op === 'add') e.b.op('v128.not');
    e.b.op('v128.and').i32(31).op('i32x4.shr_s', 'v128.bitselect');
  });

/** `.relu`: results below zero are zero. */
const rectified = (op: 'min_s' | 'max_s'): LaneEmitter =>
  toWord((e) => words(e, 1, 2).op(`i32x4.${op}`).i32x4(0).op('i32x4.max_s'));

/** Pushes the factors of mul24: their low 24 bits, extended. */
function factors24(e: LaneContext, signed: boolean) {
  for (const index of [1, 2]) {
    words(e, index)
      .i32(8)
      .op('i32x4.shl')
      .i32(8)
      .op(`i32x4.shr${suffix(signed)}`);
  }
  return e.b;
}

/** 24-bit products: `.lo` is bits 0 … 31, `.hi` bits 16 … 47. */
function product24(e: LaneContext, signed: boolean, high: boolean): void {
  if (!high) {
    factors24(e, signed).op('i32x4.mul');
    return;
  }
  for (const half of ['low', 'high']) {
    factors24(e, signed)
      .op(`i64x2.extmul_${half}_i32x4${suffix(signed)}`)
      .i32(16)
      .op('i64x2.shr_u');
  }
  e.b.shuffle32([0, 2, 4, 6]);
}

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const [op, simd] of [
    ['add', 'add'],
    ['sub', 'sub'],
    ['mul.lo', 'mul'],
  ] as const) {
    for (const type of WORD_TYPES) forms.set(`${op}.${type}`, ofWords(`i32x4.${simd}`, 1, 2));
    for (const type of DOUBLE_TYPES) forms.set(`${op}.${type}`, ofDoubles(`i64x2.${simd}`, 1, 2));
    for (const type of HALF_TYPES) forms.set(`${op}.${type}`, ofHalves(`i32x4.${simd}`, false, 1, 2));
  }
  for (const op of ['and', 'or', 'xor']) {
    for (const type of ['b32', 'b16']) forms.set(`${op}.${type}`, ofWords(`v128.${op}`, 1, 2));
    forms.set(`${op}.b64`, ofDoubles(`v128.${op}`, 1, 2));
  }
  forms.set('not.b32', ofWords('v128.not', 1));
  forms.set('not.b64', ofDoubles('v128.not', 1));
  forms.set('not.b16', ofHalves('v128.not', false, 1));
  for (const op of ['neg', 'abs']) {
    forms.set(`${op}.s32`, ofWords(`i32x4.${op}`, 1));
    forms.set(`${op}.s64`, ofDoubles(`i64x2.${op}`, 1));
    forms.set(`${op}.s16`, ofHalves(`i32x4.${op}`, op === 'abs', 1));
  }
  for (const op of ['add', 'sub'] as const) forms.set(`${op}.sat.s32`, saturating(op));
  for (const op of ['min', 'max'] as const) forms.set(`${op}.relu.s32`, rectified(`${op}_s`));
  for (const [s, signed] of [
    ['s', true],
    ['u', false],
  ] as const) {
    for (const op of ['min', 'max']) {
      forms.set(`${op}.${s}32`, ofWords(`i32x4.${op}_${s}`, 1, 2));
      forms.set(`${op}.${s}16`, ofHalves(`i32x4.${op}_${s}`, signed, 1, 2));
      forms.set(`${op}.${s}64`, double2Select(op === 'min' ? 'lt' : 'gt', signed));
    }
    forms.set(`mul.wide.${s}32`, wide(signed));
    forms.set(`mad.wide.${s}32`, madWide(signed));
    forms.set(
      `mul.wide.${s}16`,
      toWord((e) => halfProduct(e, signed)),
    );
    forms.set(
      `mul.hi.${s}16`,
      toWord((e) => highHalfProduct(e, signed)),
    );
    forms.set(
      `mul.hi.${s}32`,
      toWord((e) => highProduct(e, signed)),
    );
    forms.set(`mad.hi.${s}32`, toWord(plusThird((e) => highProduct(e, signed))));
    forms.set(`mad.lo.${s}32`, toWord(plusThird(product)));
    forms.set(`mad.lo.${s}64`, madDouble);
    forms.set(`mad.lo.${s}16`, toHalf(plusThird(product)));
    forms.set(`mad.wide.${s}16`, toWord(plusThird((e) => halfProduct(e, signed))));
    forms.set(`mad.hi.${s}16`, toHalf(plusThird((e) => highHalfProduct(e, signed))));
    forms.set(`sad.${s}32`, sad(signed));
    forms.set(`sad.${s}16`, sadHalf(signed));
    for (const op of ['div', 'rem']) {
      forms.set(`${op}.${s}32`, division(signed, op === 'rem'));
      forms.set(`${op}.${s}16`, divisionHalf(signed, op === 'rem'));
    }
    for (const half of ['lo', 'hi']) {
      const multiply = (e: LaneContext): void => product24(e, signed, half === 'hi');
      forms.set(`mul24.${half}.${s}32`, toWord(multiply));
      forms.set(`mad24.${half}.${s}32`, toWord(plusThird(multiply)));
    }
  }
  return forms;
}

export const INTEGER_FORMS: ReadonlyMap<string, LaneEmitter> = build();
