import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import type { RunnableImage } from '../kernel-image.ts';
import type { PrivateMemory } from './memories.ts';
import type { OperationSurroundings, PendingCopies, WarpContext } from './warp-context.ts';

/**
 * What a whole warp does at a site that it passes thousands of times, in the usual case and without a {@link WarpContext}: to make one
 * takes longer than many of these steps. False if the case is another one: nothing is done then that the general form would not do.
 *
 * @param warp address of its state.
 */
export type DirectStep = (around: OperationSurroundings, warp: number, copies: PendingCopies) => boolean;

/** Where the operands of an instruction lie, and how its step makes a context where it comes to need one. */
export interface DirectSite {
  readonly instruction: PtxInstruction;
  readonly image: RunnableImage;
  readonly memory: PrivateMemory;
  readonly contextOf: (warp: number) => WarpContext;
}

type Register = RunnableImage['registers'] extends Map<string, infer R> ? R : never;

/** Where an operand lies; undefined if it is no register. */
export const registerOf = (
  { registers }: RunnableImage,
  operand: PtxOperand | null | undefined,
): Register | undefined => (operand?.kind === 'register' ? registers.get(operand.name) : undefined);
