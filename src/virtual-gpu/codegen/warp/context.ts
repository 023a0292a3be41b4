import type { PtxInstruction } from '../../../ptx/ast.ts';
import { CHUNKS, WARP } from '../../layout.ts';
import type { BlockFrame } from '../block-frame.ts';

/** What emitters of whole-warp instructions work with. */
export interface WarpFormContext extends BlockFrame {
  readonly instruction: PtxInstruction;
}

/** Stores one vector per chunk of a register's slot, keeping inactive lanes. */
export function storeLanes(context: WarpFormContext, register: string, pushChunk: (chunk: number) => void): void {
  const { b, kernel, masked } = context;
  const slot = kernel.slotOf(register);
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    const offset = slot + chunk * 16;
    b.get(0);
    pushChunk(chunk);
    if (masked) {
      b.get(0).memory('v128.load', offset);
      b.get(0).memory('v128.load', WARP.mask + chunk * 16);
      b.op('v128.bitselect');
    }
    b.memory('v128.store', offset);
  }
}
