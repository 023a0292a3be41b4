import { bitsOfPtxType, isSigned } from '../../../../ptx/types.ts';
import { type LaneContext, type LaneEmitter, PARTS, type Part, parts, toParts, toWord, words } from '../context.ts';
import { pushF32 } from './floats.ts';

/** Integer roundings: PTX suffix → WebAssembly operation. */
export const ROUND: Record<string, string> = { rni: 'nearest', rzi: 'trunc', rmi: 'floor', rpi: 'ceil' };

/** Pushes the source of a conversion as f32. */
export const PUSH_AS_F32: Record<string, (e: LaneContext) => void> = {
  f32: (e) => pushF32(e, 1),
  f16: (e) => {
    e.word(1);
    e.helper('halfToFloat');
  },
  bf16: (e) => words(e, 1).i32(16).op('i32x4.shl'),
};

/** Clamps the words on the stack to an 8- or 16-bit type and cuts them to a 16-bit register. */
function clampWords(e: LaneContext, to: string): void {
  const bits = bitsOfPtxType(to);
  if (bits === 32) return;
  if (isSigned(to)) {
    const limit = 2 ** (bits - 1);
    e.b
      .i32x4(limit - 1)
      .op('i32x4.min_s')
      .i32x4(-limit)
      .op('i32x4.max_s')
      .i32x4(0xffff)
      .op('v128.and');
  } else e.b.i32x4(2 ** bits - 1).op('i32x4.min_u');
}

/** f32, f16 and bf16 to at most 32 bits: WebAssembly's saturation and NaN → 0 are PTX's. */
const f32ToWord = (to: string, from: string, rounding: string): LaneEmitter =>
  toWord((e) => {
    PUSH_AS_F32[from]!(e);
    e.b.op(`f32x4.${ROUND[rounding]}`, `i32x4.trunc_sat_f32x4_${isSigned(to) ? 's' : 'u'}`);
    clampWords(e, to);
  });

/** The result for NaN if f64 or a 64-bit integer takes part: only the top bit set, sign-extended. */
const nanResult = (to: string): bigint => (isSigned(to) ? -1n : 1n) << BigInt(bitsOfPtxType(to) - 1);

const f64ToWord = (to: string, rounding: string): LaneEmitter =>
  toWord((e) => {
    for (const part of PARTS) {
      parts(e, part, 1).op(`f64x2.${ROUND[rounding]}`, `i32x4.trunc_sat_f64x2_${isSigned(to) ? 's' : 'u'}_zero`);
    }
    e.b.shuffle32([0, 1, 4, 5]);
    clampWords(e, to);
    const nan = Number(BigInt.asUintN(Math.max(16, bitsOfPtxType(to)), nanResult(to)));
    e.b.i32x4(nan);
    for (const part of PARTS) parts(e, part, 1, 1).op('f64x2.eq');
    e.b.shuffle32([0, 2, 4, 6]).op('v128.bitselect');
  });

/** To 64 bits lane by lane: there is no such SIMD instruction. `pushPart` pushes two f64 lanes. */
const toDoubleWord = (to: string, rounding: string, pushPart: (e: LaneContext, part: Part) => void): LaneEmitter =>
  toParts((e, part) => {
    const [value, result] = [e.temporary(0), e.temporary(1)];
    const convert = `i64.trunc_sat_f64_${isSigned(to) ? 's' : 'u'}`;
    pushPart(e, part);
    e.b.set(value).i64x2(0n).set(result);
    for (const lane of [0, 1]) {
      e.b.get(result, value).op(`f64x2.${ROUND[rounding]}`).lane('f64x2.extract_lane', lane).op(convert);
      e.b.lane('i64x2.replace_lane', lane).set(result);
    }
    e.b.get(result).i64x2(nanResult(to)).get(value, value).op('f64x2.eq', 'v128.bitselect');
  });

/** Pushes the source as two f64 lanes. */
export const promoted =
  (from: string) =>
  (e: LaneContext, part: Part): void => {
    PUSH_AS_F32[from]!(e);
    if (part === 1) e.b.i32x4(0).shuffle32([2, 3, 4, 5]);
    e.b.op('f64x2.promote_low_f32x4');
  };

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const rounding of Object.keys(ROUND)) {
    for (const to of ['s8', 'u8', 's16', 'u16', 's32', 'u32']) {
      for (const from of Object.keys(PUSH_AS_F32))
        forms.set(`cvt.${rounding}.${to}.${from}`, f32ToWord(to, from, rounding));
      forms.set(`cvt.${rounding}.${to}.f64`, f64ToWord(to, rounding));
    }
    for (const to of ['s64', 'u64']) {
      for (const from of Object.keys(PUSH_AS_F32)) {
        forms.set(`cvt.${rounding}.${to}.${from}`, toDoubleWord(to, rounding, promoted(from)));
      }
      forms.set(
        `cvt.${rounding}.${to}.f64`,
        toDoubleWord(to, rounding, (e, part) => e.part(1, part)),
      );
    }
  }
  return forms;
}

/** Floating-point to integer conversions. */
export const FLOAT_TO_INTEGER_FORMS: ReadonlyMap<string, LaneEmitter> = build();
