import type { Pattern } from '../pattern.ts';
import { orAdvice, parameterMoves, rungMoves } from './moves.ts';

/** One atomic per CTA. */
export const aggregateAtomics: Pattern = {
  id: 'aggregate-atomics',
  title: 'Reduce in the warp and the CTA before an atomic',
  source: 'warp-aggregated atomics, NVIDIA developer blog',
  triggers: ['atomics-contention'],
  propose: (context) =>
    orAdvice(
      [
        ...rungMoves(context, 0.7, 'it reduces before it adds atomically'),
        ...parameterMoves(context, {
          role: 'items-per-thread',
          direction: 'more',
          confidence: 0.4,
          reason: 'each CTA puts more together before it adds atomically',
        }),
        ...parameterMoves(context, {
          role: 'ctas-per-sm',
          direction: 'fewer',
          confidence: 0.2,
          reason: 'fewer CTAs add to the result',
        }),
      ],
      'Sum over the lanes with shuffles, over the warps in shared memory, then add once per CTA.',
    ),
};
