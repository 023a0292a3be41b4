import type { Pattern } from '../pattern.ts';
import { orAdvice, parameterMoves, rungMoves } from './moves.ts';

/** 16 bytes per lane and load. */
export const vectorisedLoads: Pattern = {
  id: 'vectorised-loads',
  title: 'Load 16 bytes per lane',
  source: 'L4 ladder phase 4 (vectorised loads); CUDA vectorised memory access',
  triggers: ['narrow-loads', 'compute-bound', 'uncoalesced-access'],
  propose(context) {
    const direct = context.finding.id === 'narrow-loads';
    const moves = [
      ...parameterMoves(context, {
        role: 'vector-width',
        direction: 'more',
        confidence: direct ? 0.8 : 0.3,
        reason: 'fewer requests move the same bytes',
      }),
      ...(direct ? rungMoves(context, 0.6, 'its global loads are wide') : []),
    ];
    return direct ? orAdvice(moves, 'Load float4 (8 halves) where addresses are 16-byte aligned.') : moves;
  },
};
