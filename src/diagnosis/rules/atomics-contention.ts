import type { LaunchCounters } from '../../core/counters.ts';
import { figure, percent } from '../format.ts';
import type { ModelledLaunch, Rule } from '../rule.ts';
import { estimate, replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';

/** Atomic requests ÷ instructions. */
const THRESHOLD = 0.02;

const atomics = (launch: LaunchCounters): number => launch.globalAtomicRequests + launch.sharedAtomicRequests;
const atomicRatio = (launch: LaunchCounters): number =>
  launch.instructions > 0 ? atomics(launch) / launch.instructions : 0;

/** The launch with one atomic per CTA, as after a reduction inside the CTA. */
function oneAtomicPerCta(item: ModelledLaunch): LaunchCounters {
  const { launch } = item;
  const remaining = Math.min(1, launch.ctaCount / atomics(launch));
  return {
    ...replaceInstructions(item, { atomic: launch.instructionsByClass.atomic * remaining }),
    globalAtomicRequests: launch.globalAtomicRequests * remaining,
    sharedAtomicRequests: launch.sharedAtomicRequests * remaining,
  };
}

/** Many atomics: each is a round trip to L2 (or a loop in shared memory), and equal addresses take turns. */
export const atomicsContention: Rule = {
  id: 'atomics-contention',
  minimumSpeedup: 1.02,
  observe(context) {
    const contended = context.launches.filter(
      ({ launch }) => atomicRatio(launch) > THRESHOLD && atomics(launch) > launch.ctaCount,
    );
    const worst = contended[0];
    if (!worst) return undefined;
    return {
      title: `atomics: ${percent(atomicRatio(worst.launch))} of instructions`,
      evidence: contended.map(({ launch }) => ({
        counter: 'atomic requests ÷ instructions',
        value: atomicRatio(launch),
        threshold: THRESHOLD,
        comparison: 'above' as const,
        where: `${where(launch, (line) => line.atomics)}: ${figure(atomics(launch))} requests`,
      })),
      advice: 'Reduce inside the warp (shuffles) and the CTA (shared memory) first, then one atomic per CTA.',
      ...estimate(context, 'one atomic per CTA', (item) =>
        contended.includes(item) ? { launch: oneAtomicPerCta(item) } : undefined,
      ),
    };
  },
};
