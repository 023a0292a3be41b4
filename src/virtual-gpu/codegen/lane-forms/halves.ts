import type { LaneContext, LaneEmitter } from '../lane-context.ts';

/** A 16-bit float format: how it widens to f32 and which helper rounds back. */
interface Format {
  widen: (e: LaneContext) => void;
  narrow: (e: LaneContext) => void;
  fma: 'fmaF16' | 'fmaBf16';
}

const FORMATS: Record<'f16' | 'bf16', Format> = {
  f16: { widen: (e) => e.helper('halfToFloat'), narrow: (e) => e.helper('floatToHalf'), fma: 'fmaF16' },
  bf16: {
    widen: (e) => {
      e.b.i32(16).op('i32x4.shl');
    },
    narrow: (e) => e.helper('floatToBfloat'),
    fma: 'fmaBf16',
  },
};

/** Which 16 bits of the register an emitter works on. */
type Half = 'only' | 'low' | 'high';

/** Pushes the raw 16 bits of an operand, zero-extended. */
function pushRaw(e: LaneContext, index: number, half: Half): void {
  e.word(index);
  if (half === 'low') e.b.i32x4(0xffff).op('v128.and');
  if (half === 'high') e.b.i32(16).op('i32x4.shr_u');
}

/** add, sub, mul: the f32 result of two 16-bit floats, rounded once more, equals the directly rounded one,
 * because f32 has more than 2p + 2 bits of significand. */
const arithmetic =
  (format: Format, op: string) =>
  (e: LaneContext, half: Half): void => {
    for (const index of [1, 2]) {
      pushRaw(e, index, half);
      format.widen(e);
    }
    e.b.op(`f32x4.${op}`);
    format.narrow(e);
  };

const fma =
  (format: Format) =>
  (e: LaneContext, half: Half): void => {
    for (const index of [1, 2, 3]) {
      pushRaw(e, index, half);
      format.widen(e);
    }
    e.helper(format.fma);
  };

const minMax =
  (format: Format, op: 'min' | 'max') =>
  (e: LaneContext, half: Half): void => {
    const [a, b] = [e.temporary(0), e.temporary(1)];
    pushRaw(e, 1, half);
    format.widen(e);
    e.b.set(a);
    pushRaw(e, 2, half);
    format.widen(e);
    e.b.set(b);
    e.b.get(b).get(a).get(a).get(b).op(`f32x4.${op}`);
    e.b.get(b).get(b).op('f32x4.ne').op('v128.bitselect');
    e.b.get(a).get(a).op('f32x4.ne').op('v128.bitselect');
    format.narrow(e);
  };

const scalarForm =
  (compute: (e: LaneContext, half: Half) => void): LaneEmitter =>
  (e) => {
    compute(e, 'only');
    e.setWord();
  };

const packedForm =
  (compute: (e: LaneContext, half: Half) => void): LaneEmitter =>
  (e) => {
    const low = e.temporary(3);
    compute(e, 'low');
    e.b.set(low);
    compute(e, 'high');
    e.b.i32(16).op('i32x4.shl').get(low).op('v128.or');
    e.setWord();
  };

const bitwise =
  (op: 'xor' | 'and', mask: number): LaneEmitter =>
  (e) => {
    e.word(1);
    e.b.i32x4(mask).op(`v128.${op}`);
    e.setWord();
  };

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const name of ['f16', 'bf16'] as const) {
    const format = FORMATS[name];
    const both = (op: string, compute: (e: LaneContext, half: Half) => void) => {
      forms.set(`${op}.${name}`, scalarForm(compute));
      forms.set(`${op}.${name}x2`, packedForm(compute));
    };
    for (const op of ['add', 'sub', 'mul']) both(op, arithmetic(format, op));
    both('fma', fma(format));
    both('min', minMax(format, 'min'));
    both('max', minMax(format, 'max'));
    forms.set(`neg.${name}`, bitwise('xor', 0x8000));
    forms.set(`neg.${name}x2`, bitwise('xor', 0x80008000));
    forms.set(`abs.${name}`, bitwise('and', 0x7fff));
    forms.set(`abs.${name}x2`, bitwise('and', 0x7fff7fff));
  }
  return forms;
}

export const HALF_FORMS: ReadonlyMap<string, LaneEmitter> = build();
