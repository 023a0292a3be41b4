import { bitsOfF64 } from '../../../../ptx/literals.ts';
import { isSigned, sizeOfPtxType } from '../../../../ptx/types.ts';
import { type LaneContext, type LaneEmitter, PARTS } from '../context.ts';
import { PUSH_AS_F32, ROUND } from './float-to-integer.ts';
import { pushF32, saturated, setF32 } from './floats.ts';

const INTEGERS = ['s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64'];

/** Pushes an integer operand of up to 32 bits, extended to 32 bits from its own width. */
function pushExtended(e: LaneContext, index: number, type: string): void {
  e.word(index);
  extendWord(e, type);
}

/** Replaces the word on the stack by its low bits, extended by the type's sign. */
function extendWord(e: LaneContext, type: string): void {
  const bits = sizeOfPtxType(type) * 8;
  if (bits === 32) return;
  if (isSigned(type))
    e.b
      .i32(32 - bits)
      .op('i32x4.shl')
      .i32(32 - bits)
      .op('i32x4.shr_s');
  else e.b.i32x4(2 ** bits - 1).op('v128.and');
}

/** The low words of a 64-bit operand. */
function pushLowWords(e: LaneContext, index: number): void {
  e.part(index, 0);
  e.part(index, 1);
  e.b.shuffle32([0, 2, 4, 6]);
}

/** Truncates the word on the stack to the destination type and stores it; 16-bit registers stay zero-extended. */
function setInteger(e: LaneContext, type: string): void {
  const bits = sizeOfPtxType(type) * 8;
  if (type === 's8') extendWord(e, type);
  if (bits < 32) e.b.i32x4(type === 'u8' ? 0xff : 0xffff).op('v128.and');
  e.setWord();
}

function integerToInteger(to: string, from: string): LaneEmitter {
  const wideFrom = sizeOfPtxType(from) === 8;
  if (sizeOfPtxType(to) === 8) {
    return (e) => {
      for (const part of PARTS) {
        if (wideFrom) e.part(1, part);
        else {
          pushExtended(e, 1, from);
          e.b.op(`i64x2.extend_${part === 0 ? 'low' : 'high'}_i32x4_${isSigned(from) ? 's' : 'u'}`);
        }
        e.setPart(part);
      }
    };
  }
  return (e) => {
    if (wideFrom) pushLowWords(e, 1);
    else pushExtended(e, 1, from);
    setInteger(e, to);
  };
}

const wordToF32 =
  (from: string): LaneEmitter =>
  (e) => {
    pushExtended(e, 1, from);
    e.b.op(`f32x4.convert_i32x4_${isSigned(from) ? 's' : 'u'}`);
    e.setWord();
  };

const wordToF64 =
  (from: string): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      pushExtended(e, 1, from);
      if (part === 1) {
        e.b.i32x4(0).shuffle32([2, 3, 4, 5]);
      }
      e.b.op(`f64x2.convert_low_i32x4_${isSigned(from) ? 's' : 'u'}`);
      e.setPart(part);
    }
  };

const f32ToIntegralF32 =
  (rounding: string): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    e.b.op(`f32x4.${ROUND[rounding]}`);
    setF32(e);
  };

const f64ToIntegralF64 =
  (rounding: string): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.b.op(`f64x2.${ROUND[rounding]}`);
      e.setPart(part);
    }
  };

const f32ToF64: LaneEmitter = (e) => {
  for (const part of PARTS) {
    pushF32(e, 1);
    if (part === 1) e.b.i32x4(0).shuffle32([2, 3, 4, 5]);
    e.b.op('f64x2.promote_low_f32x4');
    e.setPart(part);
  }
};

/** Values that round to f32's least normal value, with unbounded exponent, are at least this. */
const LEAST_ROUNDED_TO_NORMAL = bitsOfF64(2 ** -126 * (1 - 2 ** -25));

const f64ToF32: LaneEmitter = (e) => {
  const value = e.temporary(0);
  for (const part of PARTS) {
    e.part(1, part);
    if (e.instruction.modifiers.includes('ftz')) {
      e.b.set(value).get(value).get(value).i64x2(0n).op('f64x2.mul');
      e.b.get(value).op('f64x2.abs').i64x2(LEAST_ROUNDED_TO_NORMAL).op('f64x2.ge').op('v128.bitselect');
    }
    e.b.op('f32x4.demote_f64x2_zero');
  }
  e.b.shuffle32([0, 1, 4, 5]);
  e.setWord();
};

const f32ToHalf =
  (helper: 'floatToHalf' | 'floatToBfloat'): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    e.helper(helper);
    e.setWord();
  };

/** cvt.f16x2.f32 d, a, b: a goes to the upper half. */
const f32PairToHalves =
  (helper: 'floatToHalf' | 'floatToBfloat'): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    e.helper(helper);
    e.b.i32(16).op('i32x4.shl');
    pushF32(e, 2);
    e.helper(helper);
    e.b.op('v128.or');
    e.setWord();
  };

const halfToF32: LaneEmitter = (e) => {
  e.word(1);
  e.helper('halfToFloat');
  setF32(e);
};

const bfloatToF32: LaneEmitter = (e) => {
  e.word(1);
  e.b.i32(16).op('i32x4.shl');
  setF32(e);
};

/** Integers below 2²⁴ are exact in f32, and larger ones are infinite in f16, so rounding once more is right. */
const wordToHalf =
  (from: string): LaneEmitter =>
  (e) => {
    pushExtended(e, 1, from);
    e.b.op(`f32x4.convert_i32x4_${isSigned(from) ? 's' : 'u'}`);
    e.helper('floatToHalf');
    e.setWord();
  };

const halfToF64 =
  (from: 'f16' | 'bf16'): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      PUSH_AS_F32[from]!(e);
      if (part === 1) e.b.i32x4(0).shuffle32([2, 3, 4, 5]);
      e.b.op('f64x2.promote_low_f32x4');
      e.setPart(part);
    }
  };

/** tf32 keeps 10 fraction bits, rounded half away from zero; of infinities and NaNs the upper bits as they are. */
const toTf32: LaneEmitter = (e) => {
  const value = e.temporary(0);
  e.word(1);
  e.b.set(value);
  e.b.get(value).i32x4(0x1000);
  e.b.get(value).i32x4(0x7f800000).op('v128.and').i32x4(0x7f800000).op('i32x4.ne').op('v128.and');
  e.b.op('i32x4.add').i32x4(~0x1fff).op('v128.and');
  e.setWord();
};

/** f32 to f32: only `.ftz` and `.sat` do anything. */
const f32ToF32: LaneEmitter = (e) => {
  pushF32(e, 1);
  e.setWord();
};

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const to of INTEGERS) for (const from of INTEGERS) forms.set(`cvt.${to}.${from}`, integerToInteger(to, from));
  for (const from of ['s8', 'u8', 's16', 'u16', 's32', 'u32']) {
    forms.set(`cvt.f32.${from}`, wordToF32(from));
    forms.set(`cvt.f64.${from}`, wordToF64(from));
  }
  for (const from of ['s8', 'u8', 's16', 'u16', 's32', 'u32']) forms.set(`cvt.f16.${from}`, wordToHalf(from));
  for (const rounding of Object.keys(ROUND)) {
    forms.set(`cvt.${rounding}.f32.f32`, f32ToIntegralF32(rounding));
    forms.set(`cvt.${rounding}.f64.f64`, f64ToIntegralF64(rounding));
  }
  forms.set('cvt.f64.f32', f32ToF64);
  forms.set('cvt.f32.f64', f64ToF32);
  forms.set('cvt.f16.f32', f32ToHalf('floatToHalf'));
  forms.set('cvt.bf16.f32', f32ToHalf('floatToBfloat'));
  forms.set('cvt.f16x2.f32', f32PairToHalves('floatToHalf'));
  forms.set('cvt.bf16x2.f32', f32PairToHalves('floatToBfloat'));
  forms.set('cvt.f32.f16', halfToF32);
  forms.set('cvt.f32.bf16', bfloatToF32);
  forms.set('cvt.sat.f32.f16', saturated(halfToF32));
  forms.set('cvt.f64.f16', halfToF64('f16'));
  forms.set('cvt.f64.bf16', halfToF64('bf16'));
  forms.set('cvt.f32.f32', f32ToF32);
  forms.set('cvt.sat.f32.f32', saturated(f32ToF32));
  forms.set('cvt.rna.tf32.f32', toTf32);
  return forms;
}

export const CONVERSION_FORMS: ReadonlyMap<string, LaneEmitter> = build();
