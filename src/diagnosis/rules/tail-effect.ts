import { figure } from '../../core/values.ts';
import { figureRule } from './figure-rule.ts';

/** CTAs of the busiest SM (or turns of the longest one) over the mean. */
const THRESHOLD = 1.15;

/** The last wave of CTAs leaves SMs idle, or one long CTA keeps the others waiting. */
export const tailEffect = figureRule({
  id: 'tail-effect',
  minimumSpeedup: 1.05,
  counter: 'work of the busiest SM ÷ mean work',
  threshold: THRESHOLD,
  comparison: 'above',
  valueOf({ launch: { ctaCount }, model: { schedule } }, { spec }) {
    const smCount = spec.smCount.value;
    if (ctaCount < smCount) return undefined;
    const busiest = schedule.ctasOnBusiestSm / (ctaCount / smCount);
    return busiest * (1 + (schedule.longestCtaRatio - 1) / schedule.ctasOnBusiestSm);
  },
  title: ({ launch, model, value }, { spec }) =>
    `${launch.ctaCount} CTAs fill ${figure(model.schedule.waves)} waves of ${spec.smCount.value} SMs:` +
    ` the busiest SM works ${figure(value)}× as long as the mean one`,
  where: ({ launch }) => launch.functionName,
  advice:
    'Choose tiles so that CTAs fill whole waves, use smaller tiles so that the last wave costs less, or start the ' +
    'longest CTAs first.',
  remedy: 'the same work spread evenly over the SMs',
  change: () => ({ assumptions: { quantised: false } }),
});
