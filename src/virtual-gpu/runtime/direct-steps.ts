import { pendingCopiesStep } from './async-copy.ts';
import type { DirectSite, DirectStep } from './direct-site.ts';
import { directMbarrierWait } from './mbarriers/operations.ts';
import { directWarpgroupStep } from './warpgroups/multiply.ts';

/** The step of a site; undefined where there is none. */
export const directStep = (site: DirectSite): DirectStep | undefined =>
  site.instruction.guard ? undefined : STEPS[site.instruction.opcode]?.(site);

const STEPS: Readonly<Record<string, (site: DirectSite) => DirectStep | undefined>> = {
  cp: directCopyStep,
  mbarrier: directMbarrierWait,
  wgmma: directWarpgroupStep,
};

function directCopyStep({ instruction }: DirectSite): DirectStep | undefined {
  const step = pendingCopiesStep(instruction);
  if (!step) return undefined;
  return (_around, _warp, copies) => {
    step(copies);
    return true;
  };
}
