import { PATTERN, WARP } from '../../layout.ts';
import { type FunctionBuilder, i32s, type Local } from '../../wasm/function-builder.ts';
import { chunkOffsets } from '../control/runtime-functions.ts';

/** How a group's lanes are given: which bits of `how` say what. */
export const HOW = {
  /** Only the warp's active lanes. */
  masked: 1,
  /** Only the lanes of the group's own mask. */
  guarded: 2,
  /** One address for all, and not a pattern that says where each lane's is. */
  uniform: 4,
} as const;

/** Parameters of functions that note a group's accesses: its index, its address or pattern, address of the warp's state, {@link HOW}. */
export const [GROUP, PLACE, WARP_STATE, THE_HOW] = [0, 1, 2, 3] as const;
export const WATCH_PARAMETERS = i32s(4);

export function ifHow(b: FunctionBuilder, how: number, then: () => void, otherwise?: () => void): void {
  b.get(THE_HOW).i32(how).op('i32.and');
  b.if(then, otherwise);
}

export const pushMasked = (b: FunctionBuilder): FunctionBuilder => b.get(THE_HOW).i32(HOW.masked).op('i32.and');

/** Adds a bit to `bits` for each active lane of a group with a pattern. Returns locals with the masks of the chunks. */
export function emitActiveLanes(b: FunctionBuilder, bits: Local): Local[] {
  return chunkOffsets.map((offset, chunk) => {
    const mask = b.i32x4(-1).pop('v128');
    const narrow = (how: number, base: Local, field: number) =>
      ifHow(b, how, () => b.get(mask, base).memory('v128.load', field).op('v128.and').set(mask));
    narrow(HOW.masked, WARP_STATE, WARP.mask + offset);
    narrow(HOW.guarded, PLACE, PATTERN.mask + offset);
    b.get(mask)
      .op('i32x4.bitmask')
      .i32(chunk * 4)
      .op('i32.shl')
      .get(bits)
      .op('i32.or')
      .set(bits);
    return mask;
  });
}
