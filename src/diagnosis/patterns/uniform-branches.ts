import type { Pattern } from '../pattern.ts';
import { orAdvice, rungMoves } from './moves.ts';

/** Paths chosen per warp, or tiles chosen per case. */
export const uniformBranches: Pattern = {
  id: 'uniform-branches',
  title: 'Branch per warp, and keep masked tiles apart from full ones',
  source: 'FlashAttention-3: separate masked and unmasked loops; bitmask masking −3 % instructions',
  triggers: ['divergence'],
  propose: (context) =>
    orAdvice(
      rungMoves(context, 0.6, 'its lanes take one path'),
      'Handle the few tiles that need masks in a loop of their own; use predicated arithmetic elsewhere.',
    ),
};
