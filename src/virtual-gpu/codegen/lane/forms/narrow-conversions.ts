import { bitsOfPtxType, isSigned } from '../../../../ptx/types.ts';
import { f32Bits } from '../../../wasm/function-builder.ts';
import { type LaneContext, type LaneEmitter, PARTS, parts, toWord, words } from '../context.ts';
import { pushF32 } from './floats.ts';

/** `cvt.sat` between integers of up to 32 bits. */
const saturateInteger = (to: string, from: string): LaneEmitter =>
  toWord((e) => {
    e.word(1);
    const fromBits = bitsOfPtxType(from);
    if (fromBits < 32) {
      e.b.i32(32 - fromBits).op('i32x4.shl');
      e.b.i32(32 - fromBits).op(isSigned(from) ? 'i32x4.shr_s' : 'i32x4.shr_u');
    }
    const high = isSigned(to) ? 2 ** (bitsOfPtxType(to) - 1) - 1 : 2 ** bitsOfPtxType(to) - 1;
    if (isSigned(from)) {
      e.b.i32x4(isSigned(to) ? -(2 ** (bitsOfPtxType(to) - 1)) : 0).op('i32x4.max_s');
      if (high < 2 ** 31) e.b.i32x4(high).op('i32x4.min_s');
    } else e.b.i32x4(high).op('i32x4.min_u');
    if (bitsOfPtxType(to) < 32) e.b.i32x4(0xffff).op('v128.and');
  });

/** 64-bit integers to f32 or f64, rounded once, lane by lane. */
const fromDoubleWord =
  (to: 'f32' | 'f64', signed: boolean): LaneEmitter =>
  (e) => {
    const [value, result] = [e.temporary(0), e.temporary(1)];
    const convert = `${to}.convert_i64_${signed ? 's' : 'u'}`;
    e.b.i32x4(0).set(result);
    for (const part of PARTS) {
      parts(e, part, 1).set(value);
      for (const lane of [0, 1]) {
        e.b.get(result, value).lane('i64x2.extract_lane', lane).op(convert);
        if (to === 'f32') e.b.lane('f32x4.replace_lane', part * 2 + lane).set(result);
        else e.b.lane('f64x2.replace_lane', lane).set(result);
      }
      if (to === 'f32') continue;
      e.b.get(result);
      e.setPart(part);
    }
    if (to === 'f64') return;
    e.b.get(result);
    e.setWord();
  };

/** An 8-bit float format, as conversions from f32 need it. */
interface Float8 {
  fractionBits: number;
  exponentBias: number;
  /** Largest finite value. */
  largest: number;
}

const FLOAT8: Record<'e4m3' | 'e5m2', Float8> = {
  e4m3: { fractionBits: 3, exponentBias: 7, largest: 448 },
  e5m2: { fractionBits: 2, exponentBias: 15, largest: 57344 },
};

const NAN8 = 0x7f;

/** Replaces the f32 on the stack by its 8-bit pattern: nearest even, too large becomes the largest finite value. */
function narrow8(e: LaneContext, { fractionBits, exponentBias, largest }: Float8): void {
  const [value, size, rounded] = [e.temporary(0), e.temporary(1), e.temporary(2)];
  e.b.set(value);
  e.b.get(value).op('f32x4.abs').f32x4(largest).op('f32x4.min').set(size);
  const dropped = 23 - fractionBits;
  // Normal range: round on the dropped bits, ties to even, and rebias.
  e.b
    .get(size)
    .i32x4(2 ** (dropped - 1) - 1)
    .op('i32x4.add');
  e.b.get(size).i32(dropped).op('i32x4.shr_u').i32x4(1).op('v128.and', 'i32x4.add');
  e.b
    .i32(dropped)
    .op('i32x4.shr_u')
    .i32x4((127 - exponentBias) << fractionBits)
    .op('i32x4.sub')
    .set(rounded);
  // Below it: adding this power of two puts the last place of subnormals at f32's.
  const magic = 2 ** (24 - exponentBias - fractionBits);
  e.b.get(size).f32x4(magic).op('f32x4.add').i32x4(f32Bits(magic)).op('i32x4.sub').get(rounded);
  e.b
    .get(size)
    .f32x4(2 ** (1 - exponentBias))
    .op('f32x4.lt', 'v128.bitselect');
  e.b.get(value).i32(24).op('i32x4.shr_u').i32x4(0x80).op('v128.and', 'v128.or');
  if (e.instruction.modifiers.includes('relu')) {
    // Negative values, −0 included.
    e.b.get(value).i32(31).op('i32x4.shr_s', 'v128.andnot');
  }
  e.b.i32x4(NAN8).get(value, value).op('f32x4.eq', 'v128.bitselect');
}

/** The emitter that stores two parts of `bits` bits each, of which `push` pushes the upper one first. */
const pairOf = (bits: number, push: (e: LaneContext, upper: boolean) => void): LaneEmitter =>
  toWord((e) => {
    const upper = e.temporary(3);
    push(e, true);
    e.b.i32(bits).op('i32x4.shl').set(upper);
    push(e, false);
    e.b.get(upper).op('v128.or');
  });

/** Of two f32 sources the first is the upper byte. */
const f32PairToFloat8 = (format: Float8): LaneEmitter =>
  pairOf(8, (e, upper) => {
    pushF32(e, upper ? 1 : 2);
    narrow8(e, format);
  });

const f16PairToFloat8 = (format: Float8): LaneEmitter =>
  pairOf(8, (e, upper) => {
    e.word(1);
    if (upper) e.b.i32(16).op('i32x4.shr_u');
    else e.b.i32x4(0xffff).op('v128.and');
    e.helper('halfToFloat');
    narrow8(e, format);
  });

/** Pushes one byte of a packed operand as an f16 pattern. Every 8-bit value is exact in f16. */
function widen8(e: LaneContext, upper: boolean, name: 'e4m3' | 'e5m2'): void {
  const byte = e.temporary(0);
  words(e, 1)
    .i32(upper ? 8 : 0)
    .op('i32x4.shr_u')
    .i32x4(0xff)
    .op('v128.and')
    .set(byte);
  const { fractionBits } = FLOAT8[name];
  e.b
    .get(byte)
    .i32x4(0x7f)
    .op('v128.and')
    .i32(10 - fractionBits)
    .op('i32x4.shl');
  if (name === 'e4m3') {
    // The exponent field is one bit shorter than f16's, so the value is 2⁸ times that of the pattern.
    e.helper('halfToFloat');
    e.b.f32x4(2 ** 8).op('f32x4.mul');
    e.helper('floatToHalf');
  }
  e.b.get(byte).i32x4(0x80).op('v128.and').i32(8).op('i32x4.shl', 'v128.or');
  const relu = e.instruction.modifiers.includes('relu');
  if (relu) e.b.get(byte).i32(24).op('i32x4.shl').i32(31).op('i32x4.shr_s', 'v128.andnot');
  // NaN: the all-ones pattern of e4m3, anything above infinity of e5m2.
  e.b.i32x4(0x7fff);
  e.b
    .get(byte)
    .i32x4(0x7f)
    .op('v128.and')
    .i32x4(name === 'e4m3' ? 0x7e : 0x7c)
    .op('i32x4.le_u');
  e.b.op('v128.bitselect');
}

const float8PairToF16 = (name: 'e4m3' | 'e5m2'): LaneEmitter => pairOf(16, (e, upper) => widen8(e, upper, name));

const WORD_INTEGERS = ['s8', 'u8', 's16', 'u16', 's32', 'u32'];

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const to of WORD_INTEGERS)
    for (const from of WORD_INTEGERS) forms.set(`cvt.sat.${to}.${from}`, saturateInteger(to, from));
  for (const to of ['f32', 'f64'] as const) {
    forms.set(`cvt.${to}.s64`, fromDoubleWord(to, true));
    forms.set(`cvt.${to}.u64`, fromDoubleWord(to, false));
  }
  for (const name of ['e4m3', 'e5m2'] as const) {
    for (const relu of ['', '.relu']) {
      forms.set(`cvt.satfinite${relu}.${name}x2.f32`, f32PairToFloat8(FLOAT8[name]));
      forms.set(`cvt.satfinite${relu}.${name}x2.f16x2`, f16PairToFloat8(FLOAT8[name]));
      forms.set(`cvt${relu}.f16x2.${name}x2`, float8PairToF16(name));
    }
  }
  return forms;
}

/** Saturating, 64-bit and 8-bit float conversions. */
export const NARROW_CONVERSION_FORMS: ReadonlyMap<string, LaneEmitter> = build();
