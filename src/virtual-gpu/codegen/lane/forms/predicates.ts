import type { FunctionBuilder } from '../../../wasm/function-builder.ts';
import {
  type LaneContext,
  type LaneEmitter,
  PARTS,
  parts,
  predicates,
  toParts,
  toPredicate,
  toWord,
  words,
} from '../context.ts';
import { pushF32 } from './floats.ts';
import { flushHalves } from './halves.ts';
import { halves, pushDoubleComparable } from './integers.ts';

/** Integer comparisons: PTX name → [SIMD name, swap operands]. lo, ls, hi, hs are unsigned. */
const INTEGER_COMPARISONS = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'lo', 'ls', 'hi', 'hs'] as const;
const UNSIGNED_NAMES: Record<string, string> = { lo: 'lt', ls: 'le', hi: 'gt', hs: 'ge' };
const FLOAT_COMPARISONS = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const;
const FLOAT_COMPARISON_NAMES = [...FLOAT_COMPARISONS, ...FLOAT_COMPARISONS.map((c) => `${c}u`), 'num', 'nan'];

/** Name of the SIMD comparison, and whether it is of signed values. */
function integerComparison(comparison: string, type: string): { base: string; isSigned: boolean; isEquality: boolean } {
  const base = UNSIGNED_NAMES[comparison] ?? comparison;
  const isSigned = type.startsWith('s') && !(comparison in UNSIGNED_NAMES);
  return { base, isSigned, isEquality: base === 'eq' || base === 'ne' };
}

function compareWords(comparison: string, type: string): (e: LaneContext) => void {
  const { base, isSigned, isEquality } = integerComparison(comparison, type);
  const suffix = isEquality ? '' : isSigned ? '_s' : '_u';
  return (e) => halves(e, type === 's16', 1, 2).op(`i32x4.${base}${suffix}`);
}

/** Pushes the word mask made of the 64-bit lanes' results. */
function compareDoubles(comparison: string, type: string): (e: LaneContext) => void {
  const { base, isSigned, isEquality } = integerComparison(comparison, type);
  return (e) => {
    for (const part of PARTS) {
      for (const index of [1, 2]) pushDoubleComparable(e, index, part, isSigned || isEquality);
      e.b.op(`i64x2.${base}${isEquality ? '' : '_s'}`);
    }
    e.b.shuffle32([0, 2, 4, 6]);
  };
}

/** Ordered comparisons are false for NaN; `ne` is the exception: WebAssembly's is true for NaN, PTX's is false. */
function orderedFloat(base: string, unit: string, push: (index: number) => void, e: LaneContext): void {
  push(1);
  push(2);
  e.b.op(`${unit}.${base}`);
  if (base !== 'ne') return;
  pushBothNumbers(unit, push, e);
  e.b.op('v128.and');
}

function pushBothNumbers(unit: string, push: (index: number) => void, e: LaneContext): void {
  for (const index of [1, 2]) {
    push(index);
    push(index);
    e.b.op(`${unit}.eq`);
  }
  e.b.op('v128.and');
}

/** Comparison of floats by PTX name: plain, with u (true for NaN), num, nan. */
function compareFloats(comparison: string, unit: string, push: (index: number) => void, e: LaneContext): void {
  if (comparison === 'num' || comparison === 'nan') {
    pushBothNumbers(unit, push, e);
    if (comparison === 'nan') e.b.op('v128.not');
    return;
  }
  const unordered = comparison.length === 3 && comparison.endsWith('u');
  const base = unordered ? comparison.slice(0, 2) : comparison;
  orderedFloat(base, unit, push, e);
  if (!unordered) return;
  pushBothNumbers(unit, push, e);
  e.b.op('v128.not', 'v128.or');
}

/** Pushes an operand as f32, by the type that it has. */
const PUSH_AS_F32: Readonly<Record<string, (e: LaneContext, index: number) => void>> = {
  f32: pushF32,
  f16: (e, index) => {
    e.word(index);
    if (e.instruction.modifiers.includes('ftz')) flushHalves(e);
    e.helper('halfToFloat');
  },
  bf16: (e, index) => words(e, index).i32(16).op('i32x4.shl'),
};

const f64Comparison = (comparison: string) => (e: LaneContext) => {
  for (const part of PARTS) compareFloats(comparison, 'f64x2', (index) => e.part(index, part), e);
  e.b.shuffle32([0, 2, 4, 6]);
};

/** All comparisons by `comparison.type`. Each pushes a word mask. */
function comparisons(): Map<string, (e: LaneContext) => void> {
  const all = new Map<string, (e: LaneContext) => void>();
  for (const comparison of INTEGER_COMPARISONS) {
    for (const type of ['s32', 'u32', 'b32', 's16', 'u16', 'b16'])
      all.set(`${comparison}.${type}`, compareWords(comparison, type));
    for (const type of ['s64', 'u64', 'b64']) all.set(`${comparison}.${type}`, compareDoubles(comparison, type));
  }
  for (const comparison of FLOAT_COMPARISON_NAMES) {
    all.set(`${comparison}.f64`, f64Comparison(comparison));
    for (const [type, push] of Object.entries(PUSH_AS_F32))
      all.set(`${comparison}.${type}`, (e) => compareFloats(comparison, 'f32x4', (index) => push(e, index), e));
  }
  return all;
}

/** Whether an instruction has a second predicate, for the opposite. */
const hasOpposite = (e: LaneContext): boolean => e.instruction.operands[0]?.kind === 'pair';

const plainSetp =
  (compare: (e: LaneContext) => void): LaneEmitter =>
  (e) => {
    compare(e);
    if (!hasOpposite(e)) return e.setPredicate(0);
    const mask = e.temporary(2);
    e.b.tee(mask);
    e.setPredicate(0);
    e.b.get(mask).op('v128.not');
    e.setPredicate(1);
  };

/** setp.cmp.and.type p|q, a, b, c: p = (a cmp b) op c, q = !(a cmp b) op c. */
const combinedSetp =
  (compare: (e: LaneContext) => void, op: string): LaneEmitter =>
  (e) => {
    const mask = e.temporary(2);
    compare(e);
    e.b.tee(mask);
    predicates(e, 3).op(`v128.${op}`);
    e.setPredicate(0);
    if (!hasOpposite(e)) return;
    e.b.get(mask).op('v128.not');
    predicates(e, 3).op(`v128.${op}`);
    e.setPredicate(1);
  };

/** set.cmp.u32.type: all ones or zero; set.cmp.f32.type: 1.0 or 0. */
const setWordForm = (compare: (e: LaneContext) => void, trueBits: number): LaneEmitter =>
  toWord((e) => {
    compare(e);
    e.b.i32x4(trueBits).op('v128.and');
  });

/** Words of operand 1 where the mask that `push` pushes is set, else of operand 2. */
const selectWord = (push: (e: LaneContext) => void): LaneEmitter =>
  toWord((e) => {
    words(e, 1, 2);
    push(e);
    e.b.op('v128.bitselect');
  });

const selectDouble = (push: (e: LaneContext) => void): LaneEmitter =>
  toParts((e, part) => {
    parts(e, part, 1, 2);
    push(e);
    e.b.op(part === 0 ? 'i64x2.extend_low_i32x4_s' : 'i64x2.extend_high_i32x4_s', 'v128.bitselect');
  });

const pushThird = (e: LaneContext): void => e.predicate(3);

/** Pushes the mask of lanes where operand 3 is at least 0. */
const pushNotNegative =
  (type: string) =>
  (e: LaneContext): void => {
    if (type === 'f32') {
      pushF32(e, 3);
      e.b.f32x4(0).op('f32x4.ge');
    } else words(e, 3).i32x4(0).op('i32x4.ge_s');
  };

/** Packed halves: the low ones decide the first predicate, the high ones the second. */
const packedSetp =
  (comparison: string, type: 'f16x2' | 'bf16x2'): LaneEmitter =>
  (e) => {
    const widen = (index: number, upper: boolean): void => {
      e.word(index);
      if (type === 'bf16x2') {
        if (upper) e.b.i32x4(0xffff0000).op('v128.and');
        else e.b.i32(16).op('i32x4.shl');
        return;
      }
      if (upper) e.b.i32(16).op('i32x4.shr_u');
      else e.b.i32x4(0xffff).op('v128.and');
      if (e.instruction.modifiers.includes('ftz')) flushHalves(e);
      e.helper('halfToFloat');
    };
    for (const [result, upper] of [false, true].entries()) {
      compareFloats(comparison, 'f32x4', (index) => widen(index, upper), e);
      e.setPredicate(result);
    }
  };

/** `testp` of f32: the comparison of a pattern's magnitude, or of the magnitude − 1. Zeros count as normal. */
const PROPERTIES: Readonly<Record<string, (magnitude: () => FunctionBuilder) => void>> = {
  finite: (magnitude) => magnitude().i32x4(0x7f800000).op('i32x4.lt_s'),
  infinite: (magnitude) => magnitude().i32x4(0x7f800000).op('i32x4.eq'),
  number: (magnitude) => magnitude().i32x4(0x7f800000).op('i32x4.le_s'),
  notanumber: (magnitude) => magnitude().i32x4(0x7f800000).op('i32x4.gt_s'),
  subnormal: (magnitude) => magnitude().i32x4(1).op('i32x4.sub').i32x4(0x7fffff).op('i32x4.lt_u'),
  normal: (magnitude) => {
    magnitude().i32x4(0x7f800000).op('i32x4.lt_s');
    magnitude().i32x4(1).op('i32x4.sub').i32x4(0x7fffff).op('i32x4.ge_u', 'v128.and');
  },
};

const magnitude = (e: LaneContext): FunctionBuilder => words(e, 1).i32x4(0x7fffffff).op('v128.and');

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const [name, compare] of comparisons()) {
    const [comparison, type] = name.split('.') as [string, string];
    forms.set(`setp.${name}`, plainSetp(compare));
    for (const op of ['and', 'or', 'xor']) forms.set(`setp.${comparison}.${op}.${type}`, combinedSetp(compare, op));
    forms.set(`set.${comparison}.u32.${type}`, setWordForm(compare, -1));
    forms.set(`set.${comparison}.s32.${type}`, setWordForm(compare, -1));
    forms.set(`set.${comparison}.f32.${type}`, setWordForm(compare, 0x3f800000));
  }
  for (const type of ['b16', 's16', 'u16', 'b32', 's32', 'u32', 'f32', 'f16'])
    forms.set(`selp.${type}`, selectWord(pushThird));
  for (const type of ['b64', 's64', 'u64', 'f64']) forms.set(`selp.${type}`, selectDouble(pushThird));
  for (const sign of ['s32', 'f32']) {
    for (const type of ['b16', 's16', 'u16', 'b32', 's32', 'u32', 'f32']) {
      forms.set(`slct.${type}.${sign}`, selectWord(pushNotNegative(sign)));
    }
    for (const type of ['b64', 's64', 'u64', 'f64'])
      forms.set(`slct.${type}.${sign}`, selectDouble(pushNotNegative(sign)));
  }
  for (const comparison of FLOAT_COMPARISON_NAMES) {
    for (const type of ['f16x2', 'bf16x2'] as const)
      forms.set(`setp.${comparison}.${type}`, packedSetp(comparison, type));
  }
  for (const [property, test] of Object.entries(PROPERTIES))
    forms.set(
      `testp.${property}.f32`,
      toPredicate((e) => test(() => magnitude(e))),
    );
  for (const op of ['and', 'or', 'xor']) {
    forms.set(
      `${op}.pred`,
      toPredicate((e) => predicates(e, 1, 2).op(`v128.${op}`)),
    );
  }
  forms.set(
    'not.pred',
    toPredicate((e) => predicates(e, 1).op('v128.not')),
  );
  return forms;
}

export const PREDICATE_FORMS: ReadonlyMap<string, LaneEmitter> = build();
