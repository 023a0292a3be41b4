import { bitsOfF64 } from '../../../../ptx/literals.ts';
import { isSigned, sizeOfPtxType } from '../../../../ptx/types.ts';
import { type LaneContext, type LaneEmitter, PARTS, type Part, parts, toParts, toWord, words } from '../context.ts';
import { PUSH_AS_F32, promoted, ROUND } from './float-to-integer.ts';
import { pushF32, saturated, setF32 } from './floats.ts';
import { eitherHalf } from './moves.ts';

const INTEGERS = ['s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64'];

/** Pushes the integer that is converted, of up to 32 bits, extended to 32 bits from its own width. */
function pushExtended(e: LaneContext, type: string): void {
  e.word(1);
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

/** Truncates the word on the stack to the destination type and stores it; 16-bit registers stay zero-extended. */
function setInteger(e: LaneContext, type: string): void {
  const bits = sizeOfPtxType(type) * 8;
  if (type === 's8') extendWord(e, type);
  if (bits < 32) e.b.i32x4(type === 'u8' ? 0xff : 0xffff).op('v128.and');
  e.setWord();
}

const suffix = (type: string): string => (isSigned(type) ? '_s' : '_u');

function integerToInteger(to: string, from: string): LaneEmitter {
  const wideFrom = sizeOfPtxType(from) === 8;
  if (sizeOfPtxType(to) === 8) {
    return toParts((e, part) => {
      if (wideFrom) return e.part(1, part);
      pushExtended(e, from);
      e.b.op(`i64x2.extend_${part === 0 ? 'low' : 'high'}_i32x4${suffix(from)}`);
    });
  }
  return (e) => {
    if (wideFrom) eitherHalf(e, 1, 0);
    else pushExtended(e, from);
    setInteger(e, to);
  };
}

/** Pushes an integer of up to 32 bits as f32. */
function pushConverted(e: LaneContext, from: string): void {
  pushExtended(e, from);
  e.b.op(`f32x4.convert_i32x4${suffix(from)}`);
}

const wordToF32 = (from: string): LaneEmitter => toWord((e) => pushConverted(e, from));

/** Moves the words of the second part to where 64-bit conversions read them. */
const lowWordsOf = ({ b }: LaneContext, part: Part) => (part === 1 ? b.i32x4(0).shuffle32([2, 3, 4, 5]) : b);

const wordToF64 = (from: string): LaneEmitter =>
  toParts((e, part) => {
    pushExtended(e, from);
    lowWordsOf(e, part).op(`f64x2.convert_low_i32x4${suffix(from)}`);
  });

const f32ToIntegralF32 =
  (rounding: string): LaneEmitter =>
  (e) => {
    pushF32(e, 1);
    e.b.op(`f32x4.${ROUND[rounding]}`);
    setF32(e);
  };

const f64ToIntegralF64 = (rounding: string): LaneEmitter =>
  toParts((e, part) => parts(e, part, 1).op(`f64x2.${ROUND[rounding]}`));

/** Values that round to f32's least normal value, with unbounded exponent, are at least this. */
const LEAST_ROUNDED_TO_NORMAL = bitsOfF64(2 ** -126 * (1 - 2 ** -25));

const f64ToF32 = toWord((e) => {
  const value = e.temporary(0);
  for (const part of PARTS) {
    e.part(1, part);
    if (e.instruction.modifiers.includes('ftz')) {
      e.b.set(value).get(value, value).i64x2(0n).op('f64x2.mul');
      e.b.get(value).op('f64x2.abs').i64x2(LEAST_ROUNDED_TO_NORMAL).op('f64x2.ge', 'v128.bitselect');
    }
    e.b.op('f32x4.demote_f64x2_zero');
  }
  e.b.shuffle32([0, 1, 4, 5]);
});

/** What rounds an f32 on the stack to a pattern of 16 bits. */
type Narrow = (e: LaneContext) => void;

const NARROW: Readonly<Record<'f16' | 'bf16', Narrow>> = {
  f16: (e) => e.helper('floatToHalf'),
  bf16: (e) => e.helper('floatToBfloat'),
};

const f32ToHalf = (narrow: Narrow): LaneEmitter =>
  toWord((e) => {
    pushF32(e, 1);
    narrow(e);
  });

/** cvt.f16x2.f32 d, a, b: a goes to the upper half. */
const f32PairToHalves = (narrow: Narrow): LaneEmitter =>
  toWord((e) => {
    pushF32(e, 1);
    narrow(e);
    e.b.i32(16).op('i32x4.shl');
    pushF32(e, 2);
    narrow(e);
    e.b.op('v128.or');
  });

/** `.relu`: clears negative results, −0 included; NaN stays canonical. */
const rectified =
  (narrow: Narrow): Narrow =>
  (e) => {
    narrow(e);
    const pattern = e.temporary(4);
    e.b.set(pattern);
    e.b.get(pattern, pattern).i32(16).op('i32x4.shl').i32(31).op('i32x4.shr_s', 'v128.andnot');
  };

const halfToF32 =
  (from: 'f16' | 'bf16'): LaneEmitter =>
  (e) => {
    PUSH_AS_F32[from]!(e);
    setF32(e);
  };

/** Integers below 2²⁴ are exact in f32, and larger ones are infinite in f16, so rounding once more is right. */
const wordToHalf = (from: string): LaneEmitter =>
  toWord((e) => {
    pushConverted(e, from);
    e.helper('floatToHalf');
  });

const toF64 = (from: string): LaneEmitter => toParts((e, part) => promoted(from)(e, part));

/** tf32 keeps 10 fraction bits, rounded half away from zero; of infinities and NaNs the upper bits as they are. */
const toTf32 = toWord((e) => {
  const value = e.temporary(0);
  words(e, 1).set(value);
  e.b.get(value).i32x4(0x1000);
  e.b.get(value).i32x4(0x7f800000).op('v128.and').i32x4(0x7f800000).op('i32x4.ne', 'v128.and');
  e.b.op('i32x4.add').i32x4(~0x1fff).op('v128.and');
});

/** f32 to f32: only `.ftz` and `.sat` do anything. */
const f32ToF32 = toWord((e) => pushF32(e, 1));

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const to of INTEGERS) for (const from of INTEGERS) forms.set(`cvt.${to}.${from}`, integerToInteger(to, from));
  for (const from of ['s8', 'u8', 's16', 'u16', 's32', 'u32']) {
    forms.set(`cvt.f32.${from}`, wordToF32(from));
    forms.set(`cvt.f64.${from}`, wordToF64(from));
    forms.set(`cvt.f16.${from}`, wordToHalf(from));
  }
  for (const rounding of Object.keys(ROUND)) {
    forms.set(`cvt.${rounding}.f32.f32`, f32ToIntegralF32(rounding));
    forms.set(`cvt.${rounding}.f64.f64`, f64ToIntegralF64(rounding));
  }
  forms.set('cvt.f32.f64', f64ToF32);
  for (const [name, narrow] of Object.entries(NARROW)) {
    forms.set(`cvt.${name}.f32`, f32ToHalf(narrow));
    forms.set(`cvt.${name}x2.f32`, f32PairToHalves(narrow));
    forms.set(`cvt.relu.${name}.f32`, f32ToHalf(rectified(narrow)));
    forms.set(`cvt.relu.${name}x2.f32`, f32PairToHalves(rectified(narrow)));
  }
  for (const from of ['f16', 'bf16'] as const) forms.set(`cvt.f32.${from}`, halfToF32(from));
  for (const from of ['f32', 'f16', 'bf16']) forms.set(`cvt.f64.${from}`, toF64(from));
  forms.set('cvt.sat.f32.f16', saturated(halfToF32('f16')));
  forms.set('cvt.f32.f32', f32ToF32);
  forms.set('cvt.sat.f32.f32', saturated(f32ToF32));
  forms.set('cvt.rna.tf32.f32', toTf32);
  return forms;
}

export const CONVERSION_FORMS: ReadonlyMap<string, LaneEmitter> = build();
