import type { MeasuredBlock } from '../core/measurement.ts';
import { median } from './quantile.ts';

const samplesOf = (block: MeasuredBlock, contender: string): readonly number[] =>
  block.samples.find((samples) => samples.contender === contender)?.samplesNs ?? [];

/** The blocks that count: not discarded, with samples of each of these contenders. */
export const countedBlocks = (blocks: readonly MeasuredBlock[], contenders: readonly string[]): MeasuredBlock[] =>
  blocks.filter(
    (block) => block.discarded === undefined && contenders.every((name) => samplesOf(block, name).length > 0),
  );

/** All samples of a contender, in the order they were taken. */
export const allSamples = (blocks: readonly MeasuredBlock[], contender: string): number[] =>
  blocks.flatMap((block) => samplesOf(block, contender));

/** One figure per block: the median of the contender's samples in it. */
export const blockMedians = (blocks: readonly MeasuredBlock[], contender: string): number[] =>
  blocks.map((block) => median(samplesOf(block, contender)));
