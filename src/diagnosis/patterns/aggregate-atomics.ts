import type { Pattern } from '../pattern.ts';
import { orAdvice, rungMoves } from './moves.ts';

/** One atomic per CTA. */
export const aggregateAtomics: Pattern = {
  id: 'aggregate-atomics',
  title: 'Reduce in the warp and the CTA before an atomic',
  source: 'warp-aggregated atomics, NVIDIA developer blog',
  triggers: ['atomics-contention'],
  propose: (context) =>
    orAdvice(
      rungMoves(context, 0.7, 'it reduces before it adds atomically'),
      'Sum over the lanes with shuffles, over the warps in shared memory, then add once per CTA.',
    ),
};
