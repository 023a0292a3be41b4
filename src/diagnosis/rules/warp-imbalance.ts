import { figure } from '../../core/values.ts';
import { type ModelledLaunch, meanWarpInstructions } from '../rule.ts';
import { figureRule } from './figure-rule.ts';

/** Busiest warp ÷ mean warp. */
const THRESHOLD = 1.25;
/** With more barriers per warp than this, warps wait for each other inside the CTA: that is `serial-sections`. */
const MAXIMUM_BARRIERS_PER_WARP = 1;

const barriersPerWarp = ({ launch, model }: ModelledLaunch): number =>
  launch.barriers / (launch.ctaCount * model.schedule.warpsPerCta);

/** One warp of a CTA has more to do than the others, which hold their registers and shared memory until it ends. */
export const warpImbalance = figureRule({
  id: 'warp-imbalance',
  minimumSpeedup: 1.02,
  counter: 'instructions of the busiest warp ÷ mean warp',
  threshold: THRESHOLD,
  comparison: 'above',
  valueOf: (item) =>
    barriersPerWarp(item) <= MAXIMUM_BARRIERS_PER_WARP
      ? item.launch.criticalPathInstructions / meanWarpInstructions(item)
      : undefined,
  title: ({ value }) => `the busiest warp of a CTA executes ${figure(value)}× the instructions of the mean warp`,
  where: ({ launch }) => launch.functionName,
  advice: 'Deal the work to warps in equal shares (interleaved instead of in blocks), or use fewer warps per CTA.',
  remedy: 'the same instructions dealt equally to the warps',
  change: (item) => ({ launch: { ...item.launch, criticalPathInstructions: meanWarpInstructions(item) } }),
});
