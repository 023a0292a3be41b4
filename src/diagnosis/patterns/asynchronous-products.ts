import type { Pattern } from '../pattern.ts';
import { fewer, mended, movesOr } from './moves.ts';

const WHY = 'fewer registers per thread, which is what the assembler lacks most often';

/** wgmma that the assembler need not wait for. */
export const asynchronousProducts: Pattern = {
  id: 'asynchronous-products',
  title: 'Let wgmma stay asynchronous',
  source: 'PTX ISA, wgmma.mma_async; warnings C7510 to C7520 of ptxas, attention notebook (Hopper rungs, 1)',
  triggers: ['wgmma-serialized'],
  propose: movesOr(
    'Read accumulators only after wgmma.wait_group, and take the warpgroup’s number from a shuffle, so that branches ' +
      'around wgmma are provably uniform.',
    mended(fewer('column-tile', 0.5, WHY)),
    mended(fewer('consumers', 0.5, WHY)),
    fewer('rows-per-warp', 0.5, WHY),
  ),
};
