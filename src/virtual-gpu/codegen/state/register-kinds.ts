import type { PtxType } from '../../../ptx/ast.ts';
import { UnsupportedPtxError } from '../../../ptx/errors.ts';
import { sizeOfPtxType } from '../../../ptx/types.ts';

/** How a register is held: predicates as lane masks, everything up to 32 bits in 32-bit lanes, 64 bits in pairs. */
export type RegisterKind = 'predicate' | 'word' | 'double-word';

/** @throws UnsupportedPtxError for a type wider than 64 bits. */
export function registerKind(type: PtxType): RegisterKind {
  if (type === 'pred') return 'predicate';
  const bytes = sizeOfPtxType(type);
  if (bytes > 8) throw new UnsupportedPtxError(`.reg .${type}`, 0, 'is wider than the registers of the virtual GPU');
  return bytes === 8 ? 'double-word' : 'word';
}

/** Bytes a register takes in a warp's state: one word, or two, for each of 32 lanes. */
export const slotBytes = (kind: RegisterKind): number => (kind === 'double-word' ? 256 : 128);
