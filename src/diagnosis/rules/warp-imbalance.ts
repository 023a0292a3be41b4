import { figure } from '../../core/values.ts';
import { type ModelledLaunch, meanWarpInstructions, type Rule } from '../rule.ts';
import { estimate } from '../what-if.ts';

/** Busiest warp ÷ mean warp. */
const THRESHOLD = 1.25;
/** With more barriers per warp than this, warps wait for each other inside the CTA: that is `serial-sections`. */
const MAXIMUM_BARRIERS_PER_WARP = 1;

const imbalance = (item: ModelledLaunch): number => item.launch.criticalPathInstructions / meanWarpInstructions(item);

const barriersPerWarp = ({ launch, model }: ModelledLaunch): number =>
  launch.barriers / (launch.ctaCount * model.schedule.warpsPerCta);

/** One warp of a CTA has more to do than the others, which hold their registers and shared memory until it ends. */
export const warpImbalance: Rule = {
  id: 'warp-imbalance',
  minimumSpeedup: 1.02,
  observe(context) {
    const uneven = context.launches.filter(
      (item) => imbalance(item) > THRESHOLD && barriersPerWarp(item) <= MAXIMUM_BARRIERS_PER_WARP,
    );
    const worst = uneven[0];
    if (!worst) return undefined;
    return {
      title: `the busiest warp of a CTA executes ${figure(imbalance(worst))}× the instructions of the mean warp`,
      evidence: uneven.map((item) => ({
        counter: 'instructions of the busiest warp ÷ mean warp',
        value: imbalance(item),
        threshold: THRESHOLD,
        comparison: 'above' as const,
        where: item.launch.functionName,
      })),
      advice: 'Deal the work to warps in equal shares (interleaved instead of in blocks), or use fewer warps per CTA.',
      ...estimate(context, 'the same instructions dealt equally to the warps', (item) =>
        uneven.includes(item)
          ? { launch: { ...item.launch, criticalPathInstructions: meanWarpInstructions(item) } }
          : undefined,
      ),
    };
  },
};
