import type { Pattern } from '../pattern.ts';
import { fewer, more, movesOr, rungs } from './moves.ts';

/** Rows of a shared array that start in different banks. */
export const padSharedRows: Pattern = {
  id: 'pad-shared-rows',
  title: 'Pad (or swizzle) the rows of shared arrays',
  source:
    'published attention ladders: conflict-free shared memory 15.8 → 72.6 % of FA2 on A100, 68 → 86 % on RTX 5090',
  triggers: ['bank-conflicts'],
  propose: movesOr(
    'Pad each row of the shared array by one access width, or swizzle its columns by the row.',
    more('padding', 0.8, 'padding puts the rows that a request reads into different banks'),
    rungs(0.5, 'its shared layout avoids the conflicts'),
    fewer('padding', 0.2, 'this padding does not spread the rows; a smaller one may'),
  ),
};
