import type { FunctionBuilder, Local } from '../wasm/function-builder.ts';
import type { JitBlock } from './control/blocks.ts';
import type { KernelContext } from './kernel-context.ts';
import type { UniformRegisters } from './uniform/registers.ts';

/** Locals a block's function always has. */
export interface BlockLocals {
  /** Parameter 0: address of the warp's state. */
  warp: Local;
  /** Byte offset of the chunk: 0, 16, …, 112. */
  chunk: Local;
  /** warp + chunk, and warp + 2·chunk for 64-bit slots. */
  at: Local;
  at2: Local;
  /** Mask of the chunk's active lanes (masked variant). */
  mask: Local;
}

/** What the emitters of one block's function share. */
export interface BlockFrame {
  readonly b: FunctionBuilder;
  readonly kernel: KernelContext;
  readonly block: JitBlock;
  /** For the active lanes of a diverged warp, rather than for a converged one. */
  readonly masked: boolean;
  readonly locals: BlockLocals;
  readonly uniforms: UniformRegisters;
}
