import type { Pattern } from '../pattern.ts';
import { more, movesOr, rungs } from './moves.ts';

/** More reuse of what is loaded, and more work between barriers. */
export const largerTiles: Pattern = {
  id: 'larger-tiles',
  title: 'Use larger tiles: more reuse, fewer barriers',
  source: 'roofline; FlashAttention tile choices (128 × 112 at D = 64 on sm_8x)',
  triggers: ['memory-bound', 'barrier-heavy'],
  propose: (context) =>
    movesOr(
      'Keep more results per thread in registers, so that each loaded value is used several times.',
      ...(context.finding.id === 'memory-bound' ? [rungs(0.6, 'it reuses what it loads')] : []),
      more('column-tile', 0.5, 'more work per tile and barrier'),
      more('rows-per-warp', 0.4, 'each loaded value is used for more rows'),
      more('row-tile', 0.4, 'each loaded tile is used for more rows'),
    )(context),
};
