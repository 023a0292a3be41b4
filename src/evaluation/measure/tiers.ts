import type { Tier } from '../../core/measurement.ts';
import { LEAST_BLOCKS_FOR_VERDICT } from '../../stats/verdict.ts';

/** How much measuring a tier does. */
export interface TierLimits {
  /** Blocks before the first look at the result. */
  readonly leastBlocks: number;
  /** Blocks added while some comparison is ambiguous. */
  readonly moreBlocks: number;
  readonly mostBlocks: number;
  /** Samples of each contender in a block, unless they take longer than {@link BLOCK_BUDGET_NS}. */
  readonly samplesPerBlock: number;
  /** No block beyond `fewestBlocks` is begun after this. */
  readonly capMs: number;
  /** What the time cap leaves. */
  readonly fewestBlocks: number;
  /** Blocks in which a slot is compared whole with the oracle: all, or a secret one of the first `fewestBlocks`. */
  readonly comparedBlocks: 'all' | 'one';
  /**
   * Extra blocks at the end that time each baseline kernel without the candidate, to see whether the candidate slows it
   * down.
   */
  readonly spotCheckBlocks: number;
}

/** Most device time for all samples of a block. Slow contenders get fewer samples, at least one. */
export const BLOCK_BUDGET_NS = 500e6;

/**
 * Larger slots are compared with the oracle in only one block, in every tier, because each comparison takes longer than its
 * samples.
 */
export const LARGE_SLOT_BYTES = 4 * 1024 ** 2;

export const TIERS: Readonly<Record<Tier, TierLimits>> = {
  screen: {
    leastBlocks: 5,
    moreBlocks: 0,
    mostBlocks: 5,
    samplesPerBlock: 3,
    capMs: 500,
    fewestBlocks: 2,
    comparedBlocks: 'one',
    spotCheckBlocks: 0,
  },
  accept: {
    leastBlocks: LEAST_BLOCKS_FOR_VERDICT,
    moreBlocks: 5,
    mostBlocks: 30,
    samplesPerBlock: 5,
    capMs: 60_000,
    fewestBlocks: LEAST_BLOCKS_FOR_VERDICT,
    comparedBlocks: 'all',
    spotCheckBlocks: 3,
  },
};

/** A measurement of fixed size. A confirmation must not stop as soon as it looks good. */
export const fixedTier = (blocks: number): TierLimits => ({
  ...TIERS.accept,
  leastBlocks: blocks,
  moreBlocks: 0,
  mostBlocks: blocks,
  capMs: Number.POSITIVE_INFINITY,
  fewestBlocks: blocks,
});
