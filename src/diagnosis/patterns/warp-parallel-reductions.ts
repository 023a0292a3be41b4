import type { Pattern } from '../pattern.ts';
import { more, movesOr, rungs } from './moves.ts';

/** Reductions by all lanes (shuffles) instead of one thread, and no CTA-wide wait for them. */
export const warpParallelReductions: Pattern = {
  id: 'warp-parallel-reductions',
  title: 'Reduce across the lanes of a warp, not in one thread',
  source: 'L4 ladder: serial reductions 3652 µs → warp-parallel reductions and fewer barriers 870 µs',
  triggers: ['serial-sections', 'warp-imbalance', 'barrier-heavy'],
  propose: movesOr(
    'Give each reduction to the lanes of a warp: partial results in registers, merged by butterfly shuffles; derive the ' +
      'merge of two partial results by hand on a small case first.',
    rungs(0.8, 'lanes share the reduction and no warp waits for another one'),
    more('warps', 0.4, 'more warps share the rows whose reductions run one after the other'),
  ),
};
