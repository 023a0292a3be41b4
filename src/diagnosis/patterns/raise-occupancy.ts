import type { Pattern } from '../pattern.ts';
import { orAdvice, parameterMoves } from './moves.ts';

const LOW_OCCUPANCY = 0.5;

/** More resident warps: less of the limiting resource per CTA. */
export const raiseOccupancy: Pattern = {
  id: 'raise-occupancy',
  title: 'Use fewer resources per CTA, so that more CTAs are resident',
  source: 'CUDA C++ Best Practices Guide, occupancy; L4 ladder phase 3 (BLOCK_M 32 instead of 64)',
  triggers: ['occupancy', 'latency-bound'],
  propose(context) {
    const { launches } = context.evaluation.timing ?? {};
    const occupancy = launches?.reduce((a, b) => (b.medianNs > a.medianNs ? b : a)).occupancy;
    const direct = context.finding.id === 'occupancy';
    if (!direct && !(occupancy && occupancy.ratio < LOW_OCCUPANCY)) return [];
    const limiter = occupancy?.limiter ?? 'registers';
    const confidence = direct ? 0.6 : 0.4;
    const fewer = (role: 'row-tile' | 'column-tile' | 'stages' | 'rows-per-warp' | 'unroll') =>
      parameterMoves(context, {
        role,
        direction: 'fewer',
        confidence,
        reason: `less ${limiter === 'shared-memory' ? 'shared memory' : limiter} per CTA, the limiter of occupancy`,
      });
    const moreWarps = parameterMoves(context, {
      role: 'warps',
      direction: 'more',
      confidence,
      reason: 'more warps share the CTA’s tiles, so more warps are resident',
    });
    const moves =
      limiter === 'shared-memory'
        ? [...fewer('column-tile'), ...fewer('row-tile'), ...fewer('stages'), ...moreWarps]
        : limiter === 'registers'
          ? [...fewer('rows-per-warp'), ...fewer('unroll'), ...fewer('row-tile')]
          : moreWarps;
    return direct ? orAdvice(moves, 'Limit registers with __launch_bounds__, or keep less data per CTA.') : moves;
  },
};
