import type { Pattern } from '../pattern.ts';
import { orAdvice, parameterMoves, rungMoves } from './moves.ts';

/** More reuse of what is loaded, and more work between barriers. */
export const largerTiles: Pattern = {
  id: 'larger-tiles',
  title: 'Use larger tiles: more reuse, fewer barriers',
  source: 'roofline; FlashAttention tile choices (128 × 112 at D = 64 on sm_8x)',
  triggers: ['memory-bound', 'barrier-heavy'],
  propose: (context) =>
    orAdvice(
      [
        ...(context.finding.id === 'memory-bound' ? rungMoves(context, 0.6, 'it reuses what it loads') : []),
        ...parameterMoves(context, {
          role: 'column-tile',
          direction: 'more',
          confidence: 0.5,
          reason: 'more work per tile and barrier',
        }),
        ...parameterMoves(context, {
          role: 'rows-per-warp',
          direction: 'more',
          confidence: 0.4,
          reason: 'each loaded value is used for more rows',
        }),
        ...parameterMoves(context, {
          role: 'row-tile',
          direction: 'more',
          confidence: 0.4,
          reason: 'each loaded tile is used for more rows',
        }),
      ],
      'Keep more results per thread in registers, so that each loaded value is used several times.',
    ),
};
