import { figure } from '../../core/values.ts';
import type { Rule } from '../rule.ts';
import { estimate } from '../what-if.ts';

/** CTAs of the busiest SM (or turns of the longest one) over the mean. */
const THRESHOLD = 1.15;

/** The last wave of CTAs leaves SMs idle, or one long CTA keeps the others waiting. */
export const tailEffect: Rule = {
  id: 'tail-effect',
  minimumSpeedup: 1.05,
  observe(context) {
    const smCount = context.spec.smCount.value;
    const uneven = context.launches.flatMap(({ launch, model }) => {
      if (launch.ctaCount < smCount) return [];
      const busiest = model.schedule.ctasOnBusiestSm / (launch.ctaCount / smCount);
      const value = busiest * (1 + (model.schedule.longestCtaRatio - 1) / model.schedule.ctasOnBusiestSm);
      return value > THRESHOLD ? [{ launch, model, value }] : [];
    });
    const worst = uneven[0];
    if (!worst) return undefined;
    const { schedule } = worst.model;
    return {
      title:
        `${worst.launch.ctaCount} CTAs fill ${figure(schedule.waves)} waves of ${smCount} SMs:` +
        ` the busiest SM works ${figure(worst.value)}× as long as the mean one`,
      evidence: uneven.map(({ launch, value }) => ({
        counter: 'work of the busiest SM ÷ mean work',
        value,
        threshold: THRESHOLD,
        comparison: 'above' as const,
        where: launch.functionName,
      })),
      advice:
        'Choose tiles so that CTAs fill whole waves, use smaller tiles so that the last wave costs less, or start the ' +
        'longest CTAs first.',
      ...estimate(context, 'the same work spread evenly over the SMs', ({ launch }) =>
        uneven.some((item) => item.launch === launch) ? { assumptions: { quantised: false } } : undefined,
      ),
    };
  },
};
