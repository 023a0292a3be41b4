import type { Pattern, PatternMove } from '../pattern.ts';
import { ctaCountChoices, ctaCountWith } from './cta-count.ts';
import { orAdvice, rungMoves } from './moves.ts';

const CONFIDENCE = 0.9;

/** Fill the GPU before anything else: 2 CTAs on 58 SMs use 3.4 % of it. */
export const parallelismFirst: Pattern = {
  id: 'parallelism-first',
  title: 'Parallelism first: give every SM a CTA',
  source: 'seed pattern 18 (parallelism first); the B1 H1 S128 case of the L4 reports',
  triggers: ['parallelism'],
  propose(context) {
    const smCount = context.spec.smCount.value;
    const used = (ctaCount: number): number => Math.min(ctaCount, smCount);
    const current = ctaCountWith(context, context.candidate.parameters) ?? 1;
    const moves = ctaCountChoices(context)
      .filter(({ ctaCount }) => used(ctaCount) > used(current))
      .map(
        ({ parameter, from, value, ctaCount }): PatternMove => ({
          kind: 'parameter',
          parameter,
          from,
          value,
          expectedGain: Math.min(context.finding.estimatedSpeedup, used(ctaCount) / used(current)),
          confidence: CONFIDENCE,
          reason: `${current} → ${ctaCount} CTAs on ${smCount} SMs`,
        }),
      )
      .sort((a, b) => (b.kind === 'parameter' && a.kind === 'parameter' ? b.expectedGain - a.expectedGain : 0));
    return orAdvice(
      [...moves, ...rungMoves(context, CONFIDENCE / 2, 'a rung with more CTAs')],
      'Split the reduced axis over CTAs and combine the partial results: no parameter of this kernel makes more CTAs. ' +
        'Derive the merge of two partial results by hand on a small case first.',
    );
  },
};
