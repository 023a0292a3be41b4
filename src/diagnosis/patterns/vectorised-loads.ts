import type { Pattern } from '../pattern.ts';
import { more, movesOr, rungs } from './moves.ts';

/** 16 bytes per lane and load. */
export const vectorisedLoads: Pattern = {
  id: 'vectorised-loads',
  title: 'Load 16 bytes per lane',
  source: 'L4 ladder phase 4 (vectorised loads); CUDA vectorised memory access',
  triggers: ['narrow-loads', 'compute-bound', 'uncoalesced-access'],
  propose(context) {
    const direct = context.finding.id === 'narrow-loads';
    const width = more('vector-width', direct ? 0.8 : 0.3, 'fewer requests move the same bytes');
    if (!direct) return width(context);
    return movesOr(
      'Load float4 (8 halves) where addresses are 16-byte aligned.',
      width,
      rungs(0.6, 'its global loads are wide'),
    )(context);
  },
};
