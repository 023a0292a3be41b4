import type { PtxInstruction } from '../../ptx/ast.ts';
import type { RunnableImage } from '../kernel-image.ts';
import { pendingCopiesStep } from './async-copy.ts';
import type { CtaState } from './cta-state.ts';
import { directMbarrierWait } from './mbarriers/operations.ts';
import type { PrivateMemory } from './memories.ts';
import type { PendingCopies, WarpContext } from './warp-context.ts';
import { directWarpgroupStep } from './warpgroups/multiply.ts';

/**
 * What a whole warp does at a site that it passes thousands of times, in the usual case and without a {@link WarpContext}: to make one
 * takes longer than many of these steps. False, and nothing is done, if the case is another one.
 *
 * @param warp address of its state.
 */
export type DirectStep = (cta: CtaState, warp: number, copies: PendingCopies) => boolean;

/** Where the operands of an instruction lie, and how its step makes a context where it comes to need one. */
export interface DirectSite {
  readonly instruction: PtxInstruction;
  readonly image: RunnableImage;
  readonly memory: PrivateMemory;
  readonly contextOf: (warp: number) => WarpContext;
}

/** The step of a site; undefined where there is none. Of an image that reports its accesses only what accesses nothing is done so. */
export function directStep(site: DirectSite): DirectStep | undefined {
  const { instruction, image } = site;
  if (instruction.guard) return undefined;
  const ofCopies = pendingCopiesStep(instruction);
  if (ofCopies)
    return (_cta, _warp, copies) => {
      ofCopies(copies);
      return true;
    };
  return image.watching ? undefined : STEPS[instruction.opcode]?.(site);
}

const STEPS: Readonly<Record<string, (site: DirectSite) => DirectStep | undefined>> = {
  wgmma: directWarpgroupStep,
  mbarrier: directMbarrierWait,
};
