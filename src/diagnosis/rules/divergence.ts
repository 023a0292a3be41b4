import { LANES_PER_WARP } from '../../core/gpu-sizes.ts';
import { figure, product } from '../../core/values.ts';
import { SERIAL_LANES } from '../../hardware/launch-model/constants.ts';
import type { ModelledLaunch, Rule } from '../rule.ts';
import { estimate, packInstructions } from '../what-if.ts';
import { where } from '../where.ts';

/** Mean active lanes ÷ 32. */
const LANES_THRESHOLD = 0.8;

/**
 * Mean active lanes ÷ the lanes that the block has per warp. Few-lane instructions between barriers are left out: the
 * other lanes wait there instead of taking another path, which is `serial-sections`.
 */
function activeRatio({ launch, model }: ModelledLaunch): number {
  const first = launch.barriers > 0 ? SERIAL_LANES + 1 : 1;
  let instructions = 0;
  let threadInstructions = 0;
  launch.activeLaneHistogram.forEach((count, lanes) => {
    if (lanes < first) return;
    instructions += count;
    threadInstructions += count * lanes;
  });
  if (launch.activeLaneHistogram.length === 0) {
    // Hardware counters tell the mean alone.
    [instructions, threadInstructions] = [launch.instructions, launch.threadInstructions];
  }
  const lanesPerWarp = product(launch.block) / model.schedule.warpsPerCta;
  return instructions > 0 ? threadInstructions / instructions / lanesPerWarp : 1;
}

/** Lanes of a warp take different paths, which then run one after the other. */
export const divergence: Rule = {
  id: 'divergence',
  minimumSpeedup: 1.02,
  observe(context) {
    const divergent = context.launches.flatMap((item) => {
      const value = activeRatio(item);
      return value < LANES_THRESHOLD && item.launch.divergentBranches > 0 ? [{ launch: item.launch, value }] : [];
    });
    const worst = divergent[0];
    if (!worst) return undefined;
    return {
      title: `divergence: ${figure(worst.value * LANES_PER_WARP)} of ${LANES_PER_WARP} lanes active in the mean`,
      evidence: divergent.flatMap(({ launch, value }) => [
        {
          counter: 'active lanes ÷ 32',
          value,
          threshold: LANES_THRESHOLD,
          comparison: 'below' as const,
          where: where(launch, (line) => line.instructions * LANES_PER_WARP - line.threadInstructions),
        },
        {
          counter: 'divergent branches',
          value: launch.divergentBranches,
          threshold: 0,
          comparison: 'above' as const,
          where: `${where(launch, (line) => line.divergentBranches)}: of ${figure(launch.branches)} branches`,
        },
      ]),
      advice:
        'Make lanes of a warp take the same path: branch on the warp instead of the lane, use predicated arithmetic, or ' +
        'sort the work by path.',
      ...estimate(context, 'all lanes active in every instruction', ({ launch }) => {
        const found = divergent.find((item) => item.launch === launch);
        return found && { launch: packInstructions(launch, found.value) };
      }),
    };
  },
};
