import { figure } from '../../core/values.ts';
import type { Rule } from '../rule.ts';
import { estimate, replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';

/** Instructions of a warp between two barriers. */
const THRESHOLD = 150;
/** The estimate halves the barriers: data that crosses warps needs some. */
const REMAINING_RATIO = 0.5;

/** So little work between barriers that waiting and draining the loads dominates. */
export const barrierHeavy: Rule = {
  id: 'barrier-heavy',
  minimumSpeedup: 1.02,
  observe(context) {
    const heavy = context.launches.flatMap(({ launch }) => {
      const value = launch.barriers > 0 ? launch.instructions / launch.barriers : Number.POSITIVE_INFINITY;
      return value < THRESHOLD ? [{ launch, value }] : [];
    });
    const worst = heavy[0];
    if (!worst) return undefined;
    return {
      title: `a barrier every ${figure(worst.value)} instructions`,
      evidence: heavy.map(({ launch, value }) => ({
        counter: 'instructions per barrier',
        value,
        threshold: THRESHOLD,
        comparison: 'below' as const,
        where: where(launch, (line) => line.barriers),
      })),
      advice:
        'Do more between barriers: larger tiles, reductions inside a warp (shuffles), __syncwarp where only a warp ' +
        'shares the data, or double buffering.',
      ...estimate(context, 'half the barriers', (item) =>
        heavy.some(({ launch }) => launch === item.launch)
          ? {
              launch: replaceInstructions(item, { barrier: item.launch.instructionsByClass.barrier * REMAINING_RATIO }),
            }
          : undefined,
      ),
    };
  },
};
