import type { Pattern, PatternMove } from '../pattern.ts';
import { ctaCountChoices, ctaCountWith } from './cta-count.ts';
import { orAdvice } from './moves.ts';

const CONFIDENCE = 0.5;
const MINIMUM_GAIN = 1.03;

/** CTAs of the busiest SM ÷ mean: 1 when CTAs fill the SMs evenly. */
const unevenness = (ctaCount: number, smCount: number): number => Math.ceil(ctaCount / smCount) / (ctaCount / smCount);

/** Choose the tile so that the CTAs divide evenly among the SMs. */
export const wholeWaves: Pattern = {
  id: 'whole-waves',
  title: 'Choose tiles so that CTAs fill whole waves',
  source: 'wave quantisation, CUDA C++ Best Practices Guide; FlashAttention-3 tile choices',
  triggers: ['tail-effect'],
  propose(context) {
    const smCount = context.spec.smCount.value;
    const current = ctaCountWith(context, context.candidate.parameters) ?? smCount;
    const before = unevenness(current, smCount);
    // Equally even choices: the one with fewer, larger CTAs first, which reuse more.
    const moves = ctaCountChoices(context)
      .map((choice) => ({ ...choice, gain: before / unevenness(choice.ctaCount, smCount) }))
      .filter(({ ctaCount, gain }) => ctaCount >= smCount && gain >= MINIMUM_GAIN)
      .sort((a, b) => (Math.abs(b.gain - a.gain) > 1e-9 ? b.gain - a.gain : a.ctaCount - b.ctaCount))
      .map(
        ({ parameter, from, value, ctaCount, gain }): PatternMove => ({
          kind: 'parameter',
          parameter,
          from,
          value,
          expectedGain: Math.min(context.finding.estimatedSpeedup, gain),
          confidence: CONFIDENCE,
          reason: `${ctaCount} CTAs instead of ${current} spread more evenly over ${smCount} SMs`,
        }),
      );
    return orAdvice(moves, 'Start the longest CTAs first, or make the grid persistent with dynamic scheduling.');
  },
};
