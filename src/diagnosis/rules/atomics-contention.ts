import type { LaunchCounters } from '../../core/counters.ts';
import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import { type ModelledLaunch, type Rule, resourceNs } from '../rule.ts';
import { estimate, replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';

/** Atomic requests ÷ instructions. */
const THRESHOLD = 0.02;
/** Time of the atomics ÷ predicted time, from which even one per CTA is too many. */
const TIME_THRESHOLD = 0.5;

const atomics = (launch: LaunchCounters): number => launch.globalAtomicRequests + launch.sharedAtomicRequests;
const atomicRatio = (launch: LaunchCounters): number =>
  launch.instructions > 0 ? atomics(launch) / launch.instructions : 0;

const isFrequent = ({ launch }: ModelledLaunch): boolean =>
  atomicRatio(launch) > THRESHOLD && atomics(launch) > launch.ctaCount;

/** Share of the sequence's time that the launch's atomics take, waiting for each other's address. */
const timeRatio = (item: ModelledLaunch, totalNs: number): number => resourceNs(item, 'atomics') / totalNs;

/** The launch with as many atomics as something has CTAs: its grid, or as many as fill the SMs. */
function fewerAtomics(item: ModelledLaunch, ctaCount: number): LaunchCounters {
  const { launch } = item;
  const remaining = Math.min(1, ctaCount / atomics(launch));
  return {
    ...replaceInstructions(item, { atomic: launch.instructionsByClass.atomic * remaining }),
    globalAtomicRequests: launch.globalAtomicRequests * remaining,
    globalAtomicTurns: launch.globalAtomicTurns === undefined ? undefined : launch.globalAtomicTurns * remaining,
    sharedAtomicRequests: launch.sharedAtomicRequests * remaining,
  };
}

/** Many atomics: each is a round trip to L2 (or a loop in shared memory), and equal addresses take turns. */
export const atomicsContention: Rule = {
  id: 'atomics-contention',
  minimumSpeedup: 1.02,
  observe(context) {
    const { totalNs } = context;
    const smCount = context.spec.smCount.value;
    const isQueueing = (item: ModelledLaunch): boolean =>
      timeRatio(item, totalNs) > TIME_THRESHOLD && item.launch.globalAtomicRequests > smCount;
    const contended = context.launches.filter((item) => isFrequent(item) || isQueueing(item));
    const worst = contended[0];
    if (!worst) return undefined;
    const perCta = isFrequent(worst);
    return {
      title: perCta
        ? `atomics: ${percent(atomicRatio(worst.launch))} of instructions`
        : `atomics take ${percent(timeRatio(worst, totalNs))} of the time:` +
          ` ${figure(atomics(worst.launch))} requests queue for few addresses`,
      evidence: contended.map((item) => ({
        ...(isFrequent(item)
          ? { counter: 'atomic requests ÷ instructions', value: atomicRatio(item.launch), threshold: THRESHOLD }
          : { counter: 'atomics time ÷ predicted time', value: timeRatio(item, totalNs), threshold: TIME_THRESHOLD }),
        comparison: 'above' as const,
        where: `${where(item.launch, (line) => line.atomics)}: ${figure(atomics(item.launch))} requests`,
      })),
      advice: perCta
        ? 'Reduce inside the warp (shuffles) and the CTA (shared memory) first, then one atomic per CTA.'
        : 'Let few CTAs do the work of many (a grid of some CTAs per SM, looping), or store partial results and combine ' +
          'them in a second pass.',
      ...estimate(context, perCta ? 'one atomic per CTA' : `one atomic per SM (${smCount})`, (item) =>
        contended.includes(item)
          ? { launch: fewerAtomics(item, isFrequent(item) ? item.launch.ctaCount : smCount) }
          : undefined,
      ),
    };
  },
};
