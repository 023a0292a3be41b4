import type { Comparison, MeasuredBlock } from '../core/measurement.ts';
import { blockMedians, countedBlocks } from './block-statistics.ts';
import { median } from './quantile.ts';
import { verdictOf } from './verdict.ts';

/** A larger difference of a baseline's time from its earlier one is reported. */
const STEADY_MARGIN = 0.02;
/** Blocks before the first that is compared with them. */
const LEAST_EARLIER_BLOCKS = 3;

/** The baselines whose median in a block is more than {@link STEADY_MARGIN} off their median over the blocks before. */
export function unsteadyBaselines(
  earlier: readonly MeasuredBlock[],
  block: MeasuredBlock,
  baselines: readonly string[],
): string[] {
  return baselines.filter((name) => {
    const before = blockMedians(countedBlocks(earlier, [name]), name);
    const [now] = blockMedians(countedBlocks([block], [name]), name);
    if (now === undefined || before.length < LEAST_EARLIER_BLOCKS) return false;
    return !(Math.abs(now / median(before) - 1) <= STEADY_MARGIN);
  });
}

/**
 * A comparison whose baseline was timed alone, too. Where it is slower beside the candidate, a verdict that this could
 * explain is none: the candidate may have made it slow.
 *
 * @param aloneNs the baseline's block medians without the candidate.
 */
export function besideAndAlone(
  comparison: Comparison,
  blocks: readonly MeasuredBlock[],
  aloneNs: readonly number[],
): Comparison {
  const { baseline, candidate, intervalRatio, blockCount, verdict } = comparison;
  const beside = blockMedians(countedBlocks(blocks, [candidate, baseline]), baseline);
  const baselineSlowdown = median(beside) / median(aloneNs);
  if (verdict !== 'faster' || baselineSlowdown <= 1 + STEADY_MARGIN) return { ...comparison, baselineSlowdown };
  const [low, high] = intervalRatio.map((ratio) => ratio / baselineSlowdown) as [number, number];
  const withoutIt = verdictOf([low, high], blockCount);
  return { ...comparison, baselineSlowdown, verdict: withoutIt === 'faster' ? 'faster' : 'ambiguous' };
}
