import type { Pattern } from '../pattern.ts';
import { fewer, more, movesOr, rungs } from './moves.ts';

/** One atomic per CTA. */
export const aggregateAtomics: Pattern = {
  id: 'aggregate-atomics',
  title: 'Reduce in the warp and the CTA before an atomic',
  source: 'warp-aggregated atomics, NVIDIA developer blog',
  triggers: ['atomics-contention'],
  propose: movesOr(
    'Sum over the lanes with shuffles, over the warps in shared memory, then add once per CTA.',
    rungs(0.7, 'it reduces before it adds atomically'),
    more('items-per-thread', 0.4, 'each CTA puts more together before it adds atomically'),
    fewer('ctas-per-sm', 0.2, 'fewer CTAs add to the result'),
  ),
};
