import type { PtxType } from '../../ptx/ast.ts';

/** How a register is held: predicates as lane masks, everything up to 32 bits in 32-bit lanes, 64 bits in pairs. */
export type RegisterKind = 'predicate' | 'word' | 'double-word';

const SIZE_BYTES: Record<string, number> = {
  pred: 1,
  b8: 1,
  s8: 1,
  u8: 1,
  b16: 2,
  s16: 2,
  u16: 2,
  f16: 2,
  bf16: 2,
  b32: 4,
  s32: 4,
  u32: 4,
  f32: 4,
  f16x2: 4,
  bf16x2: 4,
  tf32: 4,
  b64: 8,
  s64: 8,
  u64: 8,
  f64: 8,
};

/** Bytes of a fundamental PTX type. */
export function sizeOfType(type: PtxType): number {
  const size = SIZE_BYTES[type];
  if (size === undefined) throw new Error(`unknown PTX type ${type}`);
  return size;
}

export const isType = (modifier: string): boolean => modifier in SIZE_BYTES;

export function registerKind(type: PtxType): RegisterKind {
  if (type === 'pred') return 'predicate';
  return sizeOfType(type) === 8 ? 'double-word' : 'word';
}

/** Bytes a register takes in a warp's state: one word, or two, for each of 32 lanes. */
export const slotBytes = (kind: RegisterKind): number => (kind === 'double-word' ? 256 : 128);
