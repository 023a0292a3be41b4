import type { Comparison, MeasuredBlock } from '../core/measurement.ts';
import { allSamples, blockMedians, countedBlocks } from './block-statistics.ts';
import { bootstrapRatio } from './bootstrap.ts';
import { mannWhitney } from './mann-whitney.ts';
import { verdictOf } from './verdict.ts';

/**
 * Compares two contenders over the blocks that count and hold samples of both. In every block the medians of the two
 * are divided, so that what a block does to both (its memory, its clock) cancels; the ratio is the geometric mean of
 * these. Blocks are what is resampled: samples within one are not independent.
 */
export function compareContenders(
  blocks: readonly MeasuredBlock[],
  { candidate, baseline }: { candidate: string; baseline: string },
  seed: number,
): Comparison {
  const counted = countedBlocks(blocks, [candidate, baseline]);
  const own = blockMedians(counted, candidate);
  const logRatios = blockMedians(counted, baseline).map((baselineNs, index) => Math.log(baselineNs / own[index]!));
  const { ratio, intervalRatio } = bootstrapRatio(logRatios, seed);
  const { u, pValue, cliffsDelta } = mannWhitney(allSamples(counted, candidate), allSamples(counted, baseline));
  return {
    candidate,
    baseline,
    verdict: verdictOf(intervalRatio, counted.length),
    ratio,
    intervalRatio,
    blockCount: counted.length,
    mannWhitney: { u, pValue },
    cliffsDelta,
  };
}
