import { type LaneContext, type LaneEmitter, PARTS } from '../lane-context.ts';
import { sizeOfType } from '../types.ts';
import { pushF32, setF32 } from './floats.ts';

const INTEGERS = ['s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64'];
const isSigned = (type: string): boolean => type.startsWith('s');

/** Pushes an integer operand of up to 32 bits, extended to 32 bits from its own width. */
function pushExtended(e: LaneContext, index: number, type: string): void {
  e.word(index);
  extendWord(e, type);
}

/** Replaces the word on the stack by its low bits, extended by the type's sign. */
function extendWord(e: LaneContext, type: string): void {
  const bits = sizeOfType(type) * 8;
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
  const bits = sizeOfType(type) * 8;
  if (type === 's8') extendWord(e, type);
  if (bits < 32) e.b.i32x4(type === 'u8' ? 0xff : 0xffff).op('v128.and');
  e.setWord();
}

function integerToInteger(to: string, from: string): LaneEmitter {
  const wideFrom = sizeOfType(from) === 8;
  if (sizeOfType(to) === 8) {
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

/** Integer roundings: PTX suffix → WebAssembly operation. */
const ROUND: Record<string, string> = { rni: 'nearest', rzi: 'trunc', rmi: 'floor', rpi: 'ceil' };

const f32ToWord =
  (to: string, rounding: string): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    e.b.op(`f32x4.${ROUND[rounding]}`);
    e.b.op(`i32x4.trunc_sat_f32x4_${isSigned(to) ? 's' : 'u'}`);
    e.setWord();
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

const f64ToWord =
  (to: string, rounding: string): LaneEmitter =>
  (e) => {
    for (const part of PARTS) {
      e.part(1, part);
      e.b.op(`f64x2.${ROUND[rounding]}`).op(`i32x4.trunc_sat_f64x2_${isSigned(to) ? 's' : 'u'}_zero`);
    }
    e.b.shuffle32([0, 1, 4, 5]);
    e.setWord();
  };

const f32ToF64: LaneEmitter = (e) => {
  for (const part of PARTS) {
    pushF32(e, 1);
    if (part === 1) e.b.i32x4(0).shuffle32([2, 3, 4, 5]);
    e.b.op('f64x2.promote_low_f32x4');
    e.setPart(part);
  }
};

const f64ToF32: LaneEmitter = (e) => {
  for (const part of PARTS) {
    e.part(1, part);
    e.b.op('f32x4.demote_f64x2_zero');
  }
  e.b.shuffle32([0, 1, 4, 5]);
  setF32(e);
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

/** 16-bit and 8-bit integers are exact in f32, so rounding once to f16 is right. */
const smallToHalf =
  (from: string): LaneEmitter =>
  (e) => {
    pushExtended(e, 1, from);
    e.b.op(`f32x4.convert_i32x4_${isSigned(from) ? 's' : 'u'}`);
    e.helper('floatToHalf');
    e.setWord();
  };

const halfToWord =
  (to: string, rounding: string): LaneEmitter =>
  (e) => {
    e.word(1);
    e.helper('halfToFloat');
    e.b.op(`f32x4.${ROUND[rounding]}`).op(`i32x4.trunc_sat_f32x4_${isSigned(to) ? 's' : 'u'}`);
    e.setWord();
  };

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const to of INTEGERS) for (const from of INTEGERS) forms.set(`cvt.${to}.${from}`, integerToInteger(to, from));
  for (const from of ['s8', 'u8', 's16', 'u16', 's32', 'u32']) {
    forms.set(`cvt.f32.${from}`, wordToF32(from));
    forms.set(`cvt.f64.${from}`, wordToF64(from));
  }
  for (const from of ['s8', 'u8', 's16', 'u16']) forms.set(`cvt.f16.${from}`, smallToHalf(from));
  for (const rounding of Object.keys(ROUND)) {
    for (const to of ['s32', 'u32']) {
      forms.set(`cvt.${rounding}.${to}.f32`, f32ToWord(to, rounding));
      forms.set(`cvt.${rounding}.${to}.f64`, f64ToWord(to, rounding));
      forms.set(`cvt.${rounding}.${to}.f16`, halfToWord(to, rounding));
    }
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
  return forms;
}

export const CONVERSION_FORMS: ReadonlyMap<string, LaneEmitter> = build();
