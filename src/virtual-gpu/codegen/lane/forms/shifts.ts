import { type LaneContext, type LaneEmitter, PARTS, parts, toWord, words } from '../context.ts';
import { setHalf, signedHalf } from './integers.ts';

/** PTX clamps shift amounts to the register width; WebAssembly wraps them. */
function shift(kind: 'shl' | 'shr_s' | 'shr_u', bits: 16 | 32 | 64): LaneEmitter {
  return (e) => {
    const amount = e.immediate(2);
    if (amount !== undefined) return constantShift(e, kind, bits, amount >>> 0);
    if (bits === 64) return variableShift64(e, kind);
    return variableShift32(e, kind, bits);
  };
}

function pushShiftee(e: LaneContext, kind: string, bits: number): void {
  if (bits === 16 && kind === 'shr_s') signedHalf(e, 1);
  else e.word(1);
}

function constantShift(e: LaneContext, kind: string, bits: number, amount: number): void {
  const overflow = amount >= bits;
  const effective = overflow ? bits - 1 : amount;
  if (bits === 64) {
    for (const part of PARTS) {
      parts(e, part, 1).i32(effective).op(`i64x2.${kind}`);
      if (overflow && kind !== 'shr_s') e.b.i64x2(0n).op('v128.and');
      e.setPart(part);
    }
    return;
  }
  pushShiftee(e, kind, bits);
  e.b.i32(effective).op(`i32x4.${kind}`);
  if (overflow && kind !== 'shr_s') e.b.i32x4(0).op('v128.and');
  if (bits === 16) setHalf(e);
  else e.setWord();
}

function variableShift32(e: LaneContext, kind: string, bits: number): void {
  pushShiftee(e, kind, bits);
  if (e.isScalar(2)) {
    pushClampedScalar(e);
    e.b.op(`i32x4.${kind}`);
    if (kind !== 'shr_s') words(e, 2).i32x4(31).op('i32x4.gt_u', 'v128.andnot');
  } else {
    e.word(2);
    e.helper(kind === 'shl' ? 'shiftLeftLanes' : kind === 'shr_s' ? 'shiftRightSignedLanes' : 'shiftRightLanes');
  }
  if (bits === 16) setHalf(e);
  else e.setWord();
}

function pushClampedScalar(e: LaneContext): void {
  // min(amount, 31), unsigned, without a local: select on the comparison.
  e.scalar(2);
  e.b.i32(31);
  e.scalar(2);
  e.b.i32(31).op('i32.lt_u', 'select');
}

function variableShift64(e: LaneContext, kind: string): void {
  const name = kind === 'shl' ? 'shiftLeftDoubles' : kind === 'shr_s' ? 'shiftRightSignedDoubles' : 'shiftRightDoubles';
  for (const part of PARTS) {
    e.part(1, part);
    words(e, 2).op(part === 0 ? 'i64x2.extend_low_i32x4_u' : 'i64x2.extend_high_i32x4_u');
    e.helper(name);
    e.setPart(part);
  }
}

/** {high, low} shifted as one 64-bit value, lane by lane, and one half kept. */
const funnelShift = (left: boolean, wrap: boolean): LaneEmitter =>
  toWord((e) => {
    const [low, high, amount, result] = [e.temporary(0), e.temporary(1), e.temporary(2), e.temporary(3)];
    words(e, 1).set(low);
    words(e, 2).set(high);
    words(e, 3)
      .i32x4(wrap ? 31 : 32)
      .op(wrap ? 'v128.and' : 'i32x4.min_u')
      .set(amount);
    e.b.i32x4(0).set(result);
    for (let lane = 0; lane < 4; lane++) {
      e.b.get(result);
      e.b.get(high).lane('i32x4.extract_lane', lane).op('i64.extend_i32_u').i64(32n).op('i64.shl');
      e.b.get(low).lane('i32x4.extract_lane', lane).op('i64.extend_i32_u', 'i64.or');
      e.b
        .get(amount)
        .lane('i32x4.extract_lane', lane)
        .op('i64.extend_i32_u', left ? 'i64.shl' : 'i64.shr_u');
      if (left) e.b.i64(32n).op('i64.shr_u');
      e.b.op('i32.wrap_i64').lane('i32x4.replace_lane', lane).set(result);
    }
    e.b.get(result);
  });

/** By a constant amount. */
export const funnelWrap = (left: boolean): LaneEmitter =>
  toWord((e) => {
    const amount = e.immediate(3)! & 31;
    const shiftUp = left ? amount : 32 - amount;
    // {hi, lo} << n takes hi << n | lo >> (32 − n); right shifts mirror it.
    if (amount === 0) return e.word(left ? 2 : 1);
    words(e, 2).i32(shiftUp).op('i32x4.shl');
    words(e, 1)
      .i32(32 - shiftUp)
      .op('i32x4.shr_u', 'v128.or');
  });

function build(): Map<string, LaneEmitter> {
  const forms = new Map<string, LaneEmitter>();
  for (const bits of [16, 32, 64] as const) {
    forms.set(`shl.b${bits}`, shift('shl', bits));
    forms.set(`shr.u${bits}`, shift('shr_u', bits));
    forms.set(`shr.b${bits}`, shift('shr_u', bits));
    forms.set(`shr.s${bits}`, shift('shr_s', bits));
  }
  for (const direction of ['l', 'r']) {
    for (const mode of ['wrap', 'clamp']) {
      forms.set(`shf.${direction}.${mode}.b32`, funnelShift(direction === 'l', mode === 'wrap'));
    }
  }
  return forms;
}

/** Shifts, plain and of two words. */
export const SHIFT_FORMS: ReadonlyMap<string, LaneEmitter> = build();
