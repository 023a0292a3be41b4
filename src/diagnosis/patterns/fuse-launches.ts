import type { Pattern } from '../pattern.ts';
import { orAdvice, parameterMoves, rungMoves } from './moves.ts';

/** Fewer, larger launches. */
export const fuseLaunches: Pattern = {
  id: 'fuse-launches',
  title: 'Fuse launches, and give each more work',
  source:
    'kernel fusion, CUDA C++ Best Practices Guide; threadFenceReduction of the CUDA samples: one launch instead of two',
  triggers: ['launch-bound'],
  propose: (context) =>
    // A launch that is alone has nothing to be fused with, and the finding says so by a gain of 1.
    orAdvice(
      context.finding.estimatedSpeedup > 1
        ? [
            ...rungMoves(context, 0.6, 'it needs fewer launches'),
            ...parameterMoves(context, {
              role: 'split',
              direction: 'fewer',
              confidence: 0.3,
              reason: 'fewer parts leave less to combine',
            }),
          ]
        : [],
      'Do the final step in the CTA that finishes last (a counter in device memory), or batch several problems into one ' +
        'launch.',
    ),
};
