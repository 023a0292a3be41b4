import type { MeasuredBlock, SampleSummary } from '../core/measurement.ts';
import { allSamples, blockMedians, countedBlocks } from './block-statistics.ts';
import { bootstrapMedian } from './bootstrap.ts';
import { ascending, median, quantileOfSorted } from './quantile.ts';

export function meanOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/** Standard deviation (n − 1 in the divisor) ÷ mean; 0 for a single value. */
function coefficientOfVariation(values: Float64Array, mean: number): number {
  if (values.length === 1) return 0;
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  return Math.sqrt(squares / (values.length - 1)) / mean;
}

/**
 * Summary of a contender's samples in the blocks that count. The median is that of the block medians, which is what its
 * interval is of; everything else is over all samples. NaN throughout when no block counts.
 */
export function summarise(blocks: readonly MeasuredBlock[], contender: string, seed: number): SampleSummary {
  const counted = countedBlocks(blocks, [contender]);
  const samples = ascending(allSamples(counted, contender));
  const medians = blockMedians(counted, contender);
  const mean = meanOf(samples);
  return {
    minNs: quantileOfSorted(samples, 0),
    p5Ns: quantileOfSorted(samples, 0.05),
    medianNs: median(medians),
    p95Ns: quantileOfSorted(samples, 0.95),
    maxNs: quantileOfSorted(samples, 1),
    meanNs: mean,
    coefficientOfVariation: coefficientOfVariation(samples, mean),
    sampleCount: samples.length,
    blockCount: counted.length,
    intervalNs: bootstrapMedian(medians, seed),
  };
}
