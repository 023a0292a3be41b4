import { ctas, percent } from '../format.ts';
import type { Rule } from '../rule.ts';
import { estimate } from '../what-if.ts';

/** Share of the SMs that must have a CTA. */
const THRESHOLD = 1;
/** Share of the SMs below which nothing gains as much as giving work to the others. */
const MOSTLY_IDLE = 0.5;
/** Launches that matter: at least this share of the time. */
const MINIMUM_TIME_SHARE = 0.1;

/** Fewer CTAs than SMs: part of the GPU does nothing, whatever the code does. */
export const parallelism: Rule = {
  id: 'parallelism',
  minimumSpeedup: 1,
  observe(context) {
    const smCount = context.spec.smCount.value;
    const starved = context.launches.filter(
      ({ launch, timeShare }) => launch.ctaCount / smCount < THRESHOLD && timeShare >= MINIMUM_TIME_SHARE,
    );
    const worst = starved[0];
    if (!worst) return undefined;
    const { ctaCount, functionName } = worst.launch;
    return {
      title: `${ctas(ctaCount)} on ${smCount} SMs = ${percent(ctaCount / smCount)} of the GPU used`,
      evidence: starved.map(({ launch }) => ({
        counter: 'CTAs ÷ SMs',
        value: launch.ctaCount / smCount,
        threshold: THRESHOLD,
        comparison: 'below' as const,
        where: `${launch.functionName}: ${ctas(launch.ctaCount)}, ${smCount} SMs`,
      })),
      advice:
        `Give ${functionName} at least ${smCount} CTAs: smaller tiles, or split the reduced axis over CTAs and ` +
        `combine.${ctaCount <= MOSTLY_IDLE * smCount ? ' Nothing else pays while so many SMs are idle.' : ''}`,
      ...estimate(context, `the same work over all ${smCount} SMs instead of ${ctaCount}`, ({ launch }) => {
        if (launch.ctaCount >= smCount) return undefined;
        const share = launch.ctaCount / smCount;
        return {
          launch: {
            ...launch,
            ctaCount: smCount,
            criticalPathInstructions: launch.criticalPathInstructions * share,
            longestCtaInstructions: launch.longestCtaInstructions * share,
          },
        };
      }),
    };
  },
};
