import { figure } from '../../core/values.ts';
import { replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';
import { figureRule } from './figure-rule.ts';

/** Instructions of a warp between two barriers. */
const THRESHOLD = 150;
/** The estimate halves the barriers: data that crosses warps needs some. */
const REMAINING_RATIO = 0.5;

/** So little work between barriers that waiting and draining the loads dominates. */
export const barrierHeavy = figureRule({
  id: 'barrier-heavy',
  minimumSpeedup: 1.02,
  counter: 'instructions per barrier',
  threshold: THRESHOLD,
  comparison: 'below',
  valueOf: ({ launch }) => (launch.barriers > 0 ? launch.instructions / launch.barriers : undefined),
  title: ({ value }) => `a barrier every ${figure(value)} instructions`,
  where: ({ launch }) => where(launch, (line) => line.barriers),
  advice:
    'Do more between barriers: larger tiles, reductions inside a warp (shuffles), __syncwarp where only a warp ' +
    'shares the data, or double buffering.',
  remedy: 'half the barriers',
  change: (item) => ({
    launch: replaceInstructions(item, { barrier: item.launch.instructionsByClass.barrier * REMAINING_RATIO }),
  }),
});
