import { type LaneContext, type LaneEmitter, PARTS } from '../context.ts';
import { pushF32 } from './floats.ts';
import { flushHalves } from './halves.ts';
import { pushDoubleComparable, signedHalf } from './integers.ts';

/** Integer comparisons: PTX name → [SIMD name, swap operands]. lo, ls, hi, hs are unsigned. */
const INTEGER_COMPARISONS = ['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'lo', 'ls', 'hi', 'hs'] as const;
const UNSIGNED_NAMES: Record<string, string> = { lo: 'lt', ls: 'le', hi: 'gt', hs: 'ge' };
const FLOAT_COMPARISONS = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const;
const FLOAT_COMPARISON_NAMES = [...FLOAT_COMPARISONS, ...FLOAT_COMPARISONS.map((c) => `${c}u`), 'num', 'nan'];

function compareWords(comparison: string, type: string): (e: LaneContext) => void {
  const base = UNSIGNED_NAMES[comparison] ?? comparison;
  const signed = type.startsWith('s') && !(comparison in UNSIGNED_NAMES);
  const suffix = base === 'eq' || base === 'ne' ? '' : signed ? '_s' : '_u';
  return (e) => {
    for (const index of [1, 2]) {
      if (type === 's16') signedHalf(e, index);
      else e.word(index);
    }
    e.b.op(`i32x4.${base}${suffix}`);
  };
}

/** Pushes the word mask made of the 64-bit lanes' results. */
function compareDoubles(comparison: string, type: string): (e: LaneContext) => void {
  const base = UNSIGNED_NAMES[comparison] ?? comparison;
  const signed = type.startsWith('s') && !(comparison in UNSIGNED_NAMES);
  const suffix = base === 'eq' || base === 'ne' ? '' : '_s';
  return (e) => {
    for (const part of PARTS) {
      pushDoubleComparable(e, 1, part, signed || suffix === '');
      pushDoubleComparable(e, 2, part, signed || suffix === '');
      e.b.op(`i64x2.${base}${suffix}`);
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
  e.b.op('v128.not').op('v128.or');
}

const f32Comparison = (comparison: string) => (e: LaneContext) =>
  compareFloats(comparison, 'f32x4', (index) => pushF32(e, index), e);

const f16Comparison = (comparison: string) => (e: LaneContext) =>
  compareFloats(
    comparison,
    'f32x4',
    (index) => {
      e.word(index);
      if (e.instruction.modifiers.includes('ftz')) flushHalves(e);
      e.helper('halfToFloat');
    },
    e,
  );

const bf16Comparison = (comparison: string) => (e: LaneContext) =>
  compareFloats(
    comparison,
    'f32x4',
    (index) => {
      e.word(index);
      e.b.i32(16).op('i32x4.shl');
    },
    e,
  );

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
    all.set(`${comparison}.f32`, f32Comparison(comparison));
    all.set(`${comparison}.f64`, f64Comparison(comparison));
    all.set(`${comparison}.f16`, f16Comparison(comparison));
    all.set(`${comparison}.bf16`, bf16Comparison(comparison));
  }
  return all;
}

const plainSetp =
  (compare: (e: LaneContext) => void): LaneEmitter =>
  (e) => {
    const second = e.instruction.operands[0]?.kind === 'pair';
    compare(e);
    if (second) {
      const mask = e.temporary(2);
      e.b.tee(mask);
      e.setPredicate(0);
      e.b.get(mask).op('v128.not');
      e.setPredicate(1);
    } else e.setPredicate(0);
  };

/** setp.cmp.and.type p|q, a, b, c: p = (a cmp b) op c, q = !(a cmp b) op c. */
const combinedSetp =
  (compare: (e: LaneContext) => void, op: string): LaneEmitter =>
  (e) => {
    const mask = e.temporary(2);
    compare(e);
    e.b.tee(mask);
    e.predicate(3);
    e.b.op(`v128.${op}`);
    e.setPredicate(0);
    if (e.instruction.operands[0]?.kind !== 'pair') return;
    e.b.get(mask).op('v128.not');
    e.predicate(3);
    e.b.op(`v128.${op}`);
    e.setPredicate(1);
  };

/** set.cmp.u32.type: all ones or zero; set.cmp.f32.type: 1.0 or 0. */
const setWordForm =
  (compare: (e: LaneContext) => void, trueBits: number): LaneEmitter =>
  (e) => {
    compare(e);
    e.b.i32x4(trueBits).op('v128.and');
    e.setWord();
  };

const selectWord: LaneEmitter = (e) => {
  e.word(1);
  e.word(2);
  e.predicate(3);
  e.b.op('v128.bitselect');
  e.setWord();
};

const selectDouble: LaneEmitter = (e) => {
  for (const part of PARTS) {
    e.part(1, part);
    e.part(2, part);
    e.predicate(3);
    e.b.op(part === 0 ? 'i64x2.extend_low_i32x4_s' : 'i64x2.extend_high_i32x4_s').op('v128.bitselect');
    e.setPart(part);
  }
};

/** Pushes the mask of lanes where operand 3 is at least 0. */
function pushNotNegative(e: LaneContext, type: string): void {
  if (type === 'f32') pushF32(e, 3);
  else e.word(3);
  if (type === 'f32') e.b.f32x4(0).op('f32x4.ge');
  else e.b.i32x4(0).op('i32x4.ge_s');
}

const selectWordBySign =
  (type: string): LaneEmitter =>
  (e) => {
    e.word(1);
    e.word(2);
    pushNotNegative(e, type);
    e.b.op('v128.bitselect');
    e.setWord();
  };

const selectDoubleBySign =
  (type: string): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.part(2, part);
      pushNotNegative(e, type);
      e.b.op(part === 0 ? 'i64x2.extend_low_i32x4_s' : 'i64x2.extend_high_i32x4_s').op('v128.bitselect');
      e.setPart(part);
    }
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

/** `testp` of f32, by the pattern's magnitude. Zeros count as normal. */
const PROPERTIES: Record<string, (e: LaneContext, pushMagnitude: () => void) => void> = {
  finite: (e, push) => {
    push();
    e.b.i32x4(0x7f800000).op('i32x4.lt_s');
  },
  infinite: (e, push) => {
    push();
    e.b.i32x4(0x7f800000).op('i32x4.eq');
  },
  number: (e, push) => {
    push();
    e.b.i32x4(0x7f800000).op('i32x4.le_s');
  },
  notanumber: (e, push) => {
    push();
    e.b.i32x4(0x7f800000).op('i32x4.gt_s');
  },
  subnormal: (e, push) => {
    push();
    e.b.i32x4(1).op('i32x4.sub').i32x4(0x7fffff).op('i32x4.lt_u');
  },
  normal: (e, push) => {
    push();
    e.b.i32x4(0x7f800000).op('i32x4.lt_s');
    push();
    e.b.i32x4(1).op('i32x4.sub').i32x4(0x7fffff).op('i32x4.ge_u').op('v128.and');
  },
};

const testProperty =
  (property: string): LaneEmitter =>
  (e) => {
    PROPERTIES[property]!(e, () => {
      e.word(1);
      e.b.i32x4(0x7fffffff).op('v128.and');
    });
    e.setPredicate(0);
  };

const logic =
  (op: 'and' | 'or' | 'xor'): LaneEmitter =>
  (e) => {
    e.predicate(1);
    e.predicate(2);
    e.b.op(`v128.${op}`);
    e.setPredicate();
  };

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
  for (const type of ['b16', 's16', 'u16', 'b32', 's32', 'u32', 'f32', 'f16']) forms.set(`selp.${type}`, selectWord);
  for (const type of ['b64', 's64', 'u64', 'f64']) forms.set(`selp.${type}`, selectDouble);
  for (const sign of ['s32', 'f32']) {
    for (const type of ['b16', 's16', 'u16', 'b32', 's32', 'u32', 'f32']) {
      forms.set(`slct.${type}.${sign}`, selectWordBySign(sign));
    }
    for (const type of ['b64', 's64', 'u64', 'f64']) forms.set(`slct.${type}.${sign}`, selectDoubleBySign(sign));
  }
  for (const comparison of FLOAT_COMPARISON_NAMES) {
    for (const type of ['f16x2', 'bf16x2'] as const)
      forms.set(`setp.${comparison}.${type}`, packedSetp(comparison, type));
  }
  for (const property of Object.keys(PROPERTIES)) forms.set(`testp.${property}.f32`, testProperty(property));
  for (const op of ['and', 'or', 'xor'] as const) forms.set(`${op}.pred`, logic(op));
  forms.set('not.pred', (e) => {
    e.predicate(1);
    e.b.op('v128.not');
    e.setPredicate();
  });
  return forms;
}

export const PREDICATE_FORMS: ReadonlyMap<string, LaneEmitter> = build();
