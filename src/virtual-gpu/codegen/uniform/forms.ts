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

const push = (u: UniformContext, index: number, wide: boolean) => (wide ? u.double(index) : u.word(index));

const binary =
  (op: string, wide: boolean): UniformEmitter =>
  (u) => {
    push(u, 1, wide);
    push(u, 2, wide);
    u.b.op(`${wide ? 'i64' : 'i32'}.${op}`);
    u.set();
  };

const minMax =
  (op: 'lt' | 'gt', signed: boolean, wide: boolean): UniformEmitter =>
  (u) => {
    for (let i = 0; i < 2; i++) {
      push(u, 1, wide);
      push(u, 2, wide);
    }
    u.b.op(`${wide ? 'i64' : 'i32'}.${op}_${signed ? 's' : 'u'}`).op('select');
    u.set();
  };

const pushConstant = (u: UniformContext, value: number, wide: boolean) =>
  wide ? u.b.i64(BigInt(value)) : u.b.i32(value);

/** PTX clamps the amount. */
const shift =
  (kind: 'shl' | 'shr_s' | 'shr_u', wide: boolean): UniformEmitter =>
  (u) => {
    const bits = wide ? 64 : 32;
    const type = wide ? 'i64' : 'i32';
    const pushAmount = () => {
      u.word(2);
      if (wide) u.b.op('i64.extend_i32_u');
    };
    push(u, 1, wide);
    if (kind === 'shr_s') {
      pushAmount();
      pushConstant(u, bits - 1, wide);
      u.word(2);
      u.b.i32(bits).op('i32.lt_u').op('select').op(`${type}.shr_s`);
    } else {
      pushAmount();
      u.b.op(`${type}.${kind}`);
      pushConstant(u, 0, wide);
      u.word(2);
      u.b.i32(bits).op('i32.lt_u').op('select');
    }
    u.set();
  };

function extend(u: UniformContext, index: number, signed: boolean) {
  u.word(index);
  u.b.op(signed ? 'i64.extend_i32_s' : 'i64.extend_i32_u');
}

const mulWide =
  (signed: boolean, add: boolean): UniformEmitter =>
  (u) => {
    extend(u, 1, signed);
    extend(u, 2, signed);
    u.b.op('i64.mul');
    if (add) {
      u.double(3);
      u.b.op('i64.add');
    }
    u.set();
  };

const mulHigh =
  (signed: boolean): UniformEmitter =>
  (u) => {
    extend(u, 1, signed);
    extend(u, 2, signed);
    u.b.op('i64.mul').i64(32n).op('i64.shr_u').op('i32.wrap_i64');
    u.set();
  };

const mad =
  (wide: boolean): UniformEmitter =>
  (u) => {
    const type = wide ? 'i64' : 'i32';
    push(u, 1, wide);
    push(u, 2, wide);
    u.b.op(`${type}.mul`);
    push(u, 3, wide);
    u.b.op(`${type}.add`);
    u.set();
  };

const move =
  (wide: boolean): UniformEmitter =>
  (u) => {
    push(u, 1, wide);
    u.set();
  };

const invert =
  (wide: boolean): UniformEmitter =>
  (u) => {
    push(u, 1, wide);
    pushConstant(u, -1, wide);
    u.b.op(wide ? 'i64.xor' : 'i32.xor');
    u.set();
  };

const negate =
  (wide: boolean): UniformEmitter =>
  (u) => {
    pushConstant(u, 0, wide);
    push(u, 1, wide);
    u.b.op(wide ? 'i64.sub' : 'i32.sub');
    u.set();
  };

/** Quotient or remainder of words in 64-bit arithmetic, where −2³¹ ÷ −1 is no trap; all ones for a zero divisor. */
const divide =
  (signed: boolean, op: 'div' | 'rem'): UniformEmitter =>
  (u) => {
    const suffix = signed ? 's' : 'u';
    extend(u, 1, signed);
    extend(u, 2, signed);
    u.b.i64(1n);
    u.word(2);
    u.b.op('select').op(`i64.${op}_${suffix}`).op('i32.wrap_i64');
    if (op === 'div') u.b.i32(-1);
    else u.word(1);
    u.word(2);
    u.b.op('select');
    u.set();
  };

const compare =
  (comparison: string, type: string): UniformEmitter =>
  (u) => {
    const wide = sizeOfPtxType(type) === 8;
    const suffix = comparison === 'eq' || comparison === 'ne' ? '' : type.startsWith('s') ? '_s' : '_u';
    push(u, 1, wide);
    push(u, 2, wide);
    u.b.op(`${wide ? 'i64' : 'i32'}.${comparison}${suffix}`);
    u.set();
  };

const select =
  (wide: boolean): UniformEmitter =>
  (u) => {
    push(u, 1, wide);
    push(u, 2, wide);
    u.predicate(3);
    u.b.op('select');
    u.set();
  };

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
  return (u) => {
    push(u, 1, wideFrom);
    if (wideFrom && !wideTo) u.b.op('i32.wrap_i64');
    if (!wideFrom) EXTEND[from]!(u);
    if (!wideFrom && wideTo) u.b.op(from.startsWith('s') ? 'i64.extend_i32_s' : 'i64.extend_i32_u');
    if (sizeOfPtxType(to) < 4) u.b.i32(sizeOfPtxType(to) === 1 && to === 'u8' ? 0xff : 0xffff).op('i32.and');
    u.set();
  };
}

const predicateLogic =
  (op: string): UniformEmitter =>
  (u) => {
    u.predicate(1);
    u.predicate(2);
    u.b.op(`i32.${op}`);
    u.set();
  };

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
  forms.set('not.pred', (u) => {
    u.predicate(1);
    u.b.op('i32.eqz');
    u.set();
  });
  for (const type of Object.keys(PARAMETER_LOADS)) {
    forms.set(`ld.param.${type}`, loadParameter(type, 1));
    forms.set(`ld.param.v2.${type}`, loadParameter(type, 2));
    forms.set(`ld.param.v4.${type}`, loadParameter(type, 4));
  }
  return forms;
}

export const UNIFORM_FORMS: ReadonlyMap<string, UniformEmitter> = build();

/** The scalar code of an instruction whose operands are all warp-uniform, if it has any. */
export const uniformEmitter = (instruction: PtxInstruction): UniformEmitter | undefined =>
  UNIFORM_FORMS.get(formOf(instruction));
