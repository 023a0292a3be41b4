import type { Pattern } from '../pattern.ts';
import { movesOr, rungs } from './moves.ts';

/** Paths chosen per warp, or tiles chosen per case. */
export const uniformBranches: Pattern = {
  id: 'uniform-branches',
  title: 'Branch per warp, and keep masked tiles apart from full ones',
  source: 'FlashAttention-3: separate masked and unmasked loops; bitmask masking −3 % instructions',
  triggers: ['divergence'],
  propose: movesOr(
    'Handle the few tiles that need masks in a loop of their own; use predicated arithmetic elsewhere.',
    rungs(0.6, 'its lanes take one path'),
  ),
};
