import type { Pattern } from '../pattern.ts';
import { fewer, movesOr, rungs } from './moves.ts';

/** Fewer, larger launches. */
export const fuseLaunches: Pattern = {
  id: 'fuse-launches',
  title: 'Fuse launches, and give each more work',
  source:
    'kernel fusion, CUDA C++ Best Practices Guide; threadFenceReduction of the CUDA samples: one launch instead of two',
  triggers: ['launch-bound'],
  propose: (context) =>
    movesOr(
      'Do the final step in the CTA that finishes last (a counter in device memory), or batch several problems into one ' +
        'launch.',
      // A launch that is alone has nothing to be fused with, and the finding says so by a gain of 1.
      ...(context.finding.estimatedSpeedup > 1
        ? [rungs(0.6, 'it needs fewer launches'), fewer('split', 0.3, 'fewer parts leave less to combine')]
        : []),
    )(context),
};
