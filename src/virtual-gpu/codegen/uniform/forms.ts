import type { PtxInstruction } from '../../../ptx/ast.ts';
import { formOf } from '../../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../../ptx/types.ts';
import type { FunctionBuilder } from '../../wasm/function-builder.ts';

/** The view of an emitter for a warp-uniform instruction: scalars; predicates are 0 or 1. Operands as in LaneContext. */
export interface UniformContext {
  readonly b: FunctionBuilder;
  readonly instruction: PtxInstruction;
  word(index: number): void;
  double(index: number): void;
  predicate(index: number): void;
  /** Pops the result into destination `index` (0 unless the instruction has several). */
  set(index?: number): void;
  immediate(index: number): number | undefined;
  /** Index in the kernel's parameter block of the address operand `index`. */
  parameterOffset(index: number): number;
}

export type UniformEmitter = (context: UniformContext) => void;

/** The emitter that stores what `push` leaves on the stack. */
const toResult =
  (push: (u: UniformContext) => unknown): UniformEmitter =>
  (u) => {
    push(u);
    u.set();
  };

/** Pushes operands, of 64 bits if `wide`; what follows is written behind them. */
function operands(u: UniformContext, wide: boolean, ...indices: readonly number[]): FunctionBuilder {
  for (const index of indices) {
    if (wide) u.double(index);
    else u.word(index);
  }
  return u.b;
}

const typeOf = (wide: boolean): string => (wide ? 'i64' : 'i32');

const binary = (op: string, wide: boolean): UniformEmitter =>
  toResult((u) => operands(u, wide, 1, 2).op(`${typeOf(wide)}.${op}`));

const minMax = (op: 'lt' | 'gt', signed: boolean, wide: boolean): UniformEmitter =>
  toResult((u) => operands(u, wide, 1, 2, 1, 2).op(`${typeOf(wide)}.${op}_${signed ? 's' : 'u'}`, 'select'));

const pushConstant = (u: UniformContext, value: number, wide: boolean) =>
  wide ? u.b.i64(BigInt(value)) : u.b.i32(value);

/** PTX clamps the amount. */
const shift = (kind: 'shl' | 'shr_s' | 'shr_u', wide: boolean): UniformEmitter =>
  toResult((u) => {
    const bits = wide ? 64 : 32;
    const isInRange = () => operands(u, false, 2).i32(bits).op('i32.lt_u', 'select');
    operands(u, wide, 1);
    u.word(2);
    if (wide) u.b.op('i64.extend_i32_u');
    if (kind === 'shr_s') {
      pushConstant(u, bits - 1, wide);
      isInRange().op(`${typeOf(wide)}.shr_s`);
    } else {
      u.b.op(`${typeOf(wide)}.${kind}`);
      pushConstant(u, 0, wide);
      isInRange();
    }
  });

/** Pushes the factors or terms of 64-bit arithmetic. */
function extended(u: UniformContext, signed: boolean): FunctionBuilder {
  for (const index of [1, 2]) operands(u, false, index).op(signed ? 'i64.extend_i32_s' : 'i64.extend_i32_u');
  return u.b;
}

const mulWide = (signed: boolean, add: boolean): UniformEmitter =>
  toResult((u) => {
    extended(u, signed).op('i64.mul');
    if (add) operands(u, true, 3).op('i64.add');
  });

const mulHigh = (signed: boolean): UniformEmitter =>
  toResult((u) => extended(u, signed).op('i64.mul').i64(32n).op('i64.shr_u', 'i32.wrap_i64'));

const mad = (wide: boolean): UniformEmitter =>
  toResult((u) => {
    operands(u, wide, 1, 2).op(`${typeOf(wide)}.mul`);
    operands(u, wide, 3).op(`${typeOf(wide)}.add`);
  });

const move = (wide: boolean): UniformEmitter => toResult((u) => operands(u, wide, 1));

const invert = (wide: boolean): UniformEmitter =>
  toResult((u) => {
    operands(u, wide, 1);
    pushConstant(u, -1, wide).op(`${typeOf(wide)}.xor`);
  });

const negate = (wide: boolean): UniformEmitter =>
  toResult((u) => {
    pushConstant(u, 0, wide);
    operands(u, wide, 1).op(`${typeOf(wide)}.sub`);
  });

/** Quotient or remainder of words in 64-bit arithmetic, where −2³¹ ÷ −1 is no trap; all ones for a zero divisor. */
const divide = (signed: boolean, op: 'div' | 'rem'): UniformEmitter =>
  toResult((u) => {
    extended(u, signed).i64(1n);
    u.word(2);
    u.b.op('select', `i64.${op}_${signed ? 's' : 'u'}`, 'i32.wrap_i64');
    if (op === 'div') u.b.i32(-1);
    else u.word(1);
    operands(u, false, 2).op('select');
  });

const compare = (comparison: string, type: string): UniformEmitter =>
  toResult((u) => {
    const wide = sizeOfPtxType(type) === 8;
    const suffix = comparison === 'eq' || comparison === 'ne' ? '' : type.startsWith('s') ? '_s' : '_u';
    operands(u, wide, 1, 2).op(`${typeOf(wide)}.${comparison}${suffix}`);
  });

const select = (wide: boolean): UniformEmitter =>
  toResult((u) => {
    operands(u, wide, 1, 2);
    u.predicate(3);
    u.b.op('select');
  });

const EXTEND: Record<string, (u: UniformContext) => void> = {
  s8: (u) => u.b.op('i32.extend8_s'),
  u8: (u) => u.b.i32(0xff).op('i32.and'),
  s16: (u) => u.b.op('i32.extend16_s'),
  u16: (u) => u.b.i32(0xffff).op('i32.and'),
  s32: () => undefined,
  u32: () => undefined,
};

function convert(to: string, from: string): UniformEmitter {
  const [wideTo, wideFrom] = [sizeOfPtxType(to) === 8, sizeOfPtxType(from) === 8];
  return toResult((u) => {
    operands(u, wideFrom, 1);
    if (wideFrom && !wideTo) u.b.op('i32.wrap_i64');
    if (!wideFrom) EXTEND[from]!(u);
    if (!wideFrom && wideTo) u.b.op(from.startsWith('s') ? 'i64.extend_i32_s' : 'i64.extend_i32_u');
    if (sizeOfPtxType(to) < 4) u.b.i32(to === 'u8' ? 0xff : 0xffff).op('i32.and');
  });
}

const predicateLogic = (op: string): UniformEmitter =>
  toResult((u) => {
    u.predicate(1);
    u.predicate(2);
    u.b.op(`i32.${op}`);
  });

const PARAMETER_LOADS: Record<string, string> = {
  b8: 'i32.load8_u',
  u8: 'i32.load8_u',
  s8: 'i32.load8_s',
  b16: 'i32.load16_u',
  u16: 'i32.load16_u',
  s16: 'i32.load16_u',
  b32: 'i32.load',
  u32: 'i32.load',
  s32: 'i32.load',
  f32: 'i32.load',
  f16: 'i32.load16_u',
  b64: 'i64.load',
  u64: 'i64.load',
  s64: 'i64.load',
  f64: 'i64.load',
};

/** ld.param, with 1, 2 or 4 destinations. */
const loadParameter =
  (type: string, count: number): UniformEmitter =>
  (u) => {
    for (let element = 0; element < count; element++) {
      u.b.i32(0).memory(PARAMETER_LOADS[type]!, u.parameterOffset(count) + element * sizeOfPtxType(type));
      u.set(element);
    }
  };

function build(): Map<string, UniformEmitter> {
  const forms = new Map<string, UniformEmitter>();
  for (const wide of [false, true]) {
    const bits = wide ? 64 : 32;
    for (const prefix of ['s', 'u', 'b']) {
      const type = `${prefix}${bits}`;
      for (const op of ['add', 'sub']) forms.set(`${op}.${type}`, binary(op, wide));
      forms.set(`mul.lo.${type}`, binary('mul', wide));
      forms.set(`mad.lo.${type}`, mad(wide));
      forms.set(`mov.${type}`, move(wide));
      forms.set(`neg.${type}`, negate(wide));
      forms.set(`selp.${type}`, select(wide));
      for (const comparison of ['eq', 'ne', 'lt', 'le', 'gt', 'ge'])
        forms.set(`setp.${comparison}.${type}`, compare(comparison, type));
    }
    for (const op of ['and', 'or', 'xor']) forms.set(`${op}.b${bits}`, binary(op, wide));
    forms.set(`not.b${bits}`, invert(wide));
    forms.set(`shl.b${bits}`, shift('shl', wide));
    forms.set(`shr.u${bits}`, shift('shr_u', wide));
    forms.set(`shr.b${bits}`, shift('shr_u', wide));
    forms.set(`shr.s${bits}`, shift('shr_s', wide));
    for (const signed of [true, false]) {
      forms.set(`min.${signed ? 's' : 'u'}${bits}`, minMax('lt', signed, wide));
      forms.set(`max.${signed ? 's' : 'u'}${bits}`, minMax('gt', signed, wide));
    }
  }
  for (const signed of [true, false]) {
    const type = signed ? 's32' : 'u32';
    forms.set(`mul.wide.${type}`, mulWide(signed, false));
    forms.set(`mad.wide.${type}`, mulWide(signed, true));
    forms.set(`mul.hi.${type}`, mulHigh(signed));
    forms.set(`div.${type}`, divide(signed, 'div'));
    forms.set(`rem.${type}`, divide(signed, 'rem'));
  }
  const integers = ['s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64'];
  for (const to of integers) {
    if (to === 's8') continue;
    for (const from of integers) forms.set(`cvt.${to}.${from}`, convert(to, from));
  }
  forms.set('cvta.to.global.u64', move(true));
  forms.set('cvta.global.u64', move(true));
  for (const op of ['and', 'or', 'xor']) forms.set(`${op}.pred`, predicateLogic(op));
  forms.set(
    'not.pred',
    toResult((u) => {
      u.predicate(1);
      u.b.op('i32.eqz');
    }),
  );
  for (const type of Object.keys(PARAMETER_LOADS)) {
    for (const count of [1, 2, 4])
      forms.set(`ld.param.${count === 1 ? '' : `v${count}.`}${type}`, loadParameter(type, count));
  }
  return forms;
}

export const UNIFORM_FORMS: ReadonlyMap<string, UniformEmitter> = build();

/** The scalar code of an instruction whose operands are all warp-uniform, if it has any. */
export const uniformEmitter = (instruction: PtxInstruction): UniformEmitter | undefined =>
  UNIFORM_FORMS.get(formOf(instruction));
