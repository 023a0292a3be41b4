import { type LaneContext, type LaneEmitter, toWord } from '../context.ts';
import { pushMinMax } from './floats.ts';

/** A 16-bit float format: how it widens to f32 and which helper rounds back. */
interface Format {
  widen: (e: LaneContext) => void;
  narrow: (e: LaneContext) => void;
  fma: 'fmaF16' | 'fmaBf16';
  /** Pattern of infinity; larger magnitudes are NaN. */
  infinity: number;
  one: number;
}

const FORMATS: Record<'f16' | 'bf16', Format> = {
  f16: {
    widen: (e) => e.helper('halfToFloat'),
    narrow: (e) => e.helper('floatToHalf'),
    fma: 'fmaF16',
    infinity: 0x7c00,
    one: 0x3c00,
  },
  bf16: {
    widen: (e) => {
      e.b.i32(16).op('i32x4.shl');
    },
    narrow: (e) => e.helper('floatToBfloat'),
    fma: 'fmaBf16',
    infinity: 0x7f80,
    one: 0x3f80,
  },
};

const SIGN = 0x8000;
const MAGNITUDE = 0x7fff;
const NAN = 0x7fff;

/** Which 16 bits of the register an emitter works on. */
type Half = 'only' | 'low' | 'high';

/** Pushes the 16-bit pattern of its result, zero-extended. */
type HalfEmitter = (e: LaneContext, half: Half) => void;

const has = (e: LaneContext, modifier: string): boolean => e.instruction.modifiers.includes(modifier);

/** Replaces subnormal patterns on the stack by zeros of their sign. */
function flush(e: LaneContext, format: Format): void {
  const value = e.temporary(4);
  e.b.set(value);
  e.b.get(value, value).i32x4(SIGN).op('v128.and');
  e.b.get(value).i32x4(format.infinity).op('v128.and').i32x4(0).op('i32x4.ne', 'v128.bitselect');
}

/** `.ftz` of f16, for other emitters. */
export const flushHalves = (e: LaneContext): void => flush(e, FORMATS.f16);

/** Pushes the raw 16 bits of an operand, zero-extended; subnormals as zeros under `.ftz`. */
function pushRaw(e: LaneContext, format: Format, index: number, half: Half): void {
  e.word(index);
  if (half === 'low') e.b.i32x4(0xffff).op('v128.and');
  if (half === 'high') e.b.i32(16).op('i32x4.shr_u');
  if (has(e, 'ftz')) flush(e, format);
}

/** `.sat`: patterns into [0, 1]; NaN gives 0. */
function saturate(e: LaneContext, format: Format): void {
  const value = e.temporary(4);
  e.b.set(value);
  e.b.get(value).i32x4(format.one).op('i32x4.min_u');
  // Negative patterns lie above NaNs.
  e.b.get(value).i32x4(format.infinity).op('i32x4.le_u', 'v128.and');
}

/** `.relu`: negative patterns give 0, NaN the canonical NaN. */
function rectify(e: LaneContext, format: Format): void {
  const value = e.temporary(4);
  e.b.set(value);
  e.b
    .i32x4(NAN)
    .get(value)
    .i32x4(SIGN - 1)
    .op('i32x4.le_s')
    .get(value)
    .op('v128.and');
  e.b.get(value).i32x4(MAGNITUDE).op('v128.and').i32x4(format.infinity).op('i32x4.gt_u', 'v128.bitselect');
}

/** `.sat` and `.relu` on the result pattern. */
const finished =
  (format: Format, compute: HalfEmitter): HalfEmitter =>
  (e, half) => {
    compute(e, half);
    if (has(e, 'sat')) saturate(e, format);
    if (has(e, 'relu')) rectify(e, format);
  };

/** Moves products near the least normal value well into the range; exact on values widened to f32. */
const SCALE = 2 ** 10;
const SCALED_LEAST_NORMAL = 0x2c00;

/**
 * Under `.ftz`: replaces the pattern on the stack by a zero of its sign if the result, rounded with unbounded exponent,
 * lies below the normal range. `pushScaled` pushes the pattern of SCALE × the result.
 */
function flushTiny(e: LaneContext, pushScaled: () => void): void {
  if (!has(e, 'ftz')) return;
  const pattern = e.temporary(5);
  e.b.set(pattern);
  e.b.get(pattern).i32x4(SIGN).op('v128.and').get(pattern);
  pushScaled();
  e.b.i32x4(MAGNITUDE).op('v128.and').i32x4(SCALED_LEAST_NORMAL).op('i32x4.lt_s', 'v128.bitselect');
}

/** Pushes an operand as f32, multiplied by `scale`. */
function pushScaledOperand(e: LaneContext, format: Format, index: number, half: Half, scale: number): void {
  pushRaw(e, format, index, half);
  format.widen(e);
  if (scale !== 1) e.b.f32x4(scale).op('f32x4.mul');
}

/** add, sub, mul: the f32 result of two 16-bit floats, rounded once more, equals the directly rounded one,
 * because f32 has more than 2p + 2 bits of significand. */
const arithmetic = (format: Format, op: string): HalfEmitter =>
  finished(format, (e, half) => {
    const compute = (scale: number): void => {
      pushScaledOperand(e, format, 1, half, scale);
      // Sums are scaled in both terms, products in one factor.
      pushScaledOperand(e, format, 2, half, op === 'mul' ? 1 : scale);
      e.b.op(`f32x4.${op}`);
      format.narrow(e);
    };
    compute(1);
    flushTiny(e, () => compute(SCALE));
  });

const fma = (format: Format): HalfEmitter =>
  finished(format, (e, half) => {
    const compute = (scale: number): void => {
      pushScaledOperand(e, format, 1, half, scale);
      pushScaledOperand(e, format, 2, half, 1);
      pushScaledOperand(e, format, 3, half, scale);
      e.helper(format.fma);
    };
    compute(1);
    flushTiny(e, () => compute(SCALE));
  });

/** Sets locals a and b to the two operands as f32, magnitudes only under `.abs`. */
function widenOperands(e: LaneContext, format: Format, half: Half): [a: number, b: number] {
  const operands = [e.temporary(0), e.temporary(1)] as [number, number];
  operands.forEach((local, i) => {
    pushRaw(e, format, i + 1, half);
    format.widen(e);
    if (has(e, 'abs')) e.b.op('f32x4.abs');
    e.b.set(local);
  });
  return operands;
}

/** A number wins over NaN unless `.NaN`; `.xorsign.abs` gives the result the product's sign. */
const minMax =
  (format: Format, op: 'min' | 'max'): HalfEmitter =>
  (e, half) => {
    const [a, b] = widenOperands(e, format, half);
    if (has(e, 'NaN')) e.b.get(a, b).op(`f32x4.${op}`);
    else pushMinMax(e, 'f32x4', op, [a, b]);
    format.narrow(e);
    if (!has(e, 'xorsign')) return;
    const result = e.temporary(5);
    e.b.set(result);
    pushRaw(e, format, 1, half);
    pushRaw(e, format, 2, half);
    e.b.op('v128.xor').i32x4(SIGN).op('v128.and').get(result).op('v128.or');
  };

/** Special functions through the f32 helper, far inside the bound for 16-bit results. */
const viaHelper = (format: Format, name: 'exp2' | 'tanh'): HalfEmitter =>
  finished(format, (e, half) => {
    pushRaw(e, format, 1, half);
    format.widen(e);
    e.helper(name);
    format.narrow(e);
    if (has(e, 'ftz')) flush(e, format);
  });

const sign =
  (format: Format, op: 'xor' | 'and', mask: number): HalfEmitter =>
  (e, half) => {
    pushRaw(e, format, 1, half);
    e.b.i32x4(mask).op(`v128.${op}`);
  };

const packedForm = (compute: HalfEmitter): LaneEmitter =>
  toWord((e) => {
    const low = e.temporary(3);
    compute(e, 'low');
    e.b.set(low);
    compute(e, 'high');
    e.b.i32(16).op('i32x4.shl').get(low).op('v128.or');
  });

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const name of ['f16', 'bf16'] as const) {
    const format = FORMATS[name];
    const both = (op: string, compute: HalfEmitter) => {
      forms.set(
        `${op}.${name}`,
        toWord((e) => compute(e, 'only')),
      );
      forms.set(`${op}.${name}x2`, packedForm(compute));
    };
    for (const op of ['add', 'sub', 'mul']) {
      both(op, arithmetic(format, op));
      both(`${op}.sat`, arithmetic(format, op));
    }
    for (const variant of ['', '.sat', '.relu']) both(`fma${variant}`, fma(format));
    for (const op of ['min', 'max'] as const) {
      for (const variant of ['', '.NaN', '.xorsign.abs', '.NaN.xorsign.abs'])
        both(`${op}${variant}`, minMax(format, op));
    }
    both('ex2.approx', viaHelper(format, 'exp2'));
    both('tanh.approx', viaHelper(format, 'tanh'));
    both('neg', sign(format, 'xor', SIGN));
    both('abs', sign(format, 'and', MAGNITUDE));
  }
  return forms;
}

export const HALF_FORMS: ReadonlyMap<string, LaneEmitter> = build();
