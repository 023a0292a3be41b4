import type { Pattern } from '../pattern.ts';
import { fewer, more, orAdvice, type ParameterRole } from './moves.ts';

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
    const resource = limiter === 'shared-memory' ? 'shared memory' : limiter;
    const smaller = (role: ParameterRole) =>
      fewer(role, confidence, `less ${resource} per CTA, the limiter of occupancy`);
    const moreWarps = more('warps', confidence, 'more warps share the CTA’s tiles, so more warps are resident');
    const proposals = {
      'shared-memory': [smaller('column-tile'), smaller('row-tile'), smaller('stages'), moreWarps],
      registers: [smaller('rows-per-warp'), smaller('unroll'), smaller('row-tile')],
      warps: [moreWarps],
      ctas: [moreWarps],
    }[limiter];
    const moves = proposals.flatMap((proposal) => proposal(context));
    return direct ? orAdvice(moves, 'Limit registers with __launch_bounds__, or keep less data per CTA.') : moves;
  },
};
