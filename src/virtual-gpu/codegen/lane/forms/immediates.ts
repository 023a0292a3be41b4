import type { PtxInstruction } from '../../../../ptx/ast.ts';
import { type LaneEmitter, toWord, words } from '../context.ts';
import { funnelWrap } from './shifts.ts';

/** Inserts a bit field at a constant position. */
const insertField = toWord((e) => {
  const mask = fieldMask(e.immediate(3)!, e.immediate(4)!);
  words(e, 1).i32(e.immediate(3)!).op('i32x4.shl');
  words(e, 2).i32x4(mask).op('v128.bitselect');
});

const fieldMask = (position: number, length: number): number =>
  position > 31 || length === 0 ? 0 : (length > 31 ? -1 : (1 << length) - 1) << position;

const extractField = (signed: boolean): LaneEmitter =>
  toWord((e) => {
    const position = e.immediate(2)! & 255;
    const length = Math.min(e.immediate(3)! & 255, 32 - Math.min(position, 32));
    e.word(1);
    if (length === 0 || position > 31) e.b.i32x4(0).op('v128.and');
    else if (signed)
      e.b
        .i32(32 - position - length)
        .op('i32x4.shl')
        .i32(32 - length)
        .op('i32x4.shr_s');
    else e.b.i32(position).op('i32x4.shr_u').i32x4(fieldMask(0, length)).op('v128.and');
  });

/** Source byte of each result byte in prmt's named modes, from the low two selector bits. */
const PERMUTE_MODES: Readonly<Record<string, (selector: number, byte: number) => number>> = {
  f4e: (s, byte) => s + byte,
  b4e: (s, byte) => (s - byte) & 7,
  rc8: (s) => s,
  ecl: (s, byte) => Math.max(s, byte),
  ecr: (s, byte) => Math.min(s, byte),
  rc16: (s, byte) => (s & 1) * 2 + (byte & 1),
};

/** prmt's choice for each result byte: a byte of {a, b}, and in bit 3 whether to replicate its sign instead. */
export function pickedBytes({ modifiers }: PtxInstruction, selector: number): number[] {
  const mode = PERMUTE_MODES[modifiers.at(-1)!];
  return [0, 1, 2, 3].map((byte) => (mode ? mode(selector & 3, byte) : (selector >>> (byte * 4)) & 15));
}

const permute = toWord((e) => {
  const nibbles = pickedBytes(e.instruction, e.immediate(3)!);
  const pick = (nibble: number, lane: number) => (nibble < 4 ? lane * 4 + nibble : 16 + lane * 4 + nibble - 4);
  words(e, 1, 2).shuffle([0, 1, 2, 3].flatMap((lane) => nibbles.map((nibble) => pick(nibble & 7, lane))));
  const signs = nibbles.reduce((mask, nibble, byte) => (nibble > 7 ? mask | (0xff << (8 * byte)) : mask), 0);
  if (signs === 0) return;
  const picked = e.temporary(0);
  e.b.set(picked);
  e.b.get(picked).i32(7).op('i8x16.shr_s').get(picked).i32x4(signs).op('v128.bitselect');
});

/** lop3 with a constant truth table, as the OR of its minterms. */
const logic3 = toWord((e) => {
  const table = e.immediate(4)!;
  e.b.i32x4(0);
  for (let minterm = 0; minterm < 8; minterm++) {
    if ((table & (1 << minterm)) === 0) continue;
    for (const [position, index] of [1, 2, 3].entries()) {
      e.word(index);
      if ((minterm & (4 >> position)) === 0) e.b.op('v128.not');
      if (position > 0) e.b.op('v128.and');
    }
    e.b.op('v128.or');
  }
});

interface ImmediateForm {
  operands: readonly number[];
  emit: LaneEmitter;
}

/** Forms that have vector code only when the named operands are immediates. */
export const IMMEDIATE_FORMS: ReadonlyMap<string, ImmediateForm> = new Map<string, ImmediateForm>([
  ['bfi.b32', { operands: [3, 4], emit: insertField }],
  ['bfe.u32', { operands: [2, 3], emit: extractField(false) }],
  ['bfe.s32', { operands: [2, 3], emit: extractField(true) }],
  ...['prmt.b32', ...Object.keys(PERMUTE_MODES).map((mode) => `prmt.b32.${mode}`)].map(
    (form) => [form, { operands: [3], emit: permute }] as const,
  ),
  ['shf.l.wrap.b32', { operands: [3], emit: funnelWrap(true) }],
  ['shf.r.wrap.b32', { operands: [3], emit: funnelWrap(false) }],
  ['lop3.b32', { operands: [4], emit: logic3 }],
]);
