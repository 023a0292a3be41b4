import type { Comparison, MeasuredBlock } from '../../src/core/measurement.ts';
import { compareContenders } from '../../src/stats/compare-contenders.ts';
import { type RandomSource, randomSource } from '../../src/stats/random.ts';

/** Noise shaped like a GPU's: relative standard deviations, and how often a sample is an outlier. */
export interface NoiseModel {
  /** What a block does to both contenders alike: clock, temperature. Cancels in the paired ratio. */
  sharedBlockDeviation: number;
  /** What a block does to one contender alone: where its buffers happen to lie. Does not cancel. */
  ownBlockDeviation: number;
  /** From sample to sample. */
  sampleDeviation: number;
  /** Chance that a sample takes up to this much longer: an interrupt, another process. Never shorter. */
  outlierChance: number;
  outlierExcess: number;
  samplesPerBlock: number;
}

export const QUIET_GPU: NoiseModel = {
  sharedBlockDeviation: 0.01,
  ownBlockDeviation: 0.003,
  sampleDeviation: 0.003,
  outlierChance: 0.02,
  outlierExcess: 0.5,
  samplesPerBlock: 10,
};

/** Numbers of blocks after which the protocol looks, going on while the verdict is ambiguous. */
export const LOOKS: readonly number[] = [10, 15, 20, 25, 30];

function normal(random: RandomSource): number {
  const radius = Math.sqrt(-2 * Math.log((random.next() + 0.5) / 4294967296));
  return radius * Math.cos((2 * Math.PI * random.next()) / 4294967296);
}

const uniform = (random: RandomSource): number => random.next() / 4294967296;

function sampleNs(random: RandomSource, ns: number, noise: NoiseModel): number {
  const outlier = uniform(random) < noise.outlierChance ? 1 + noise.outlierExcess * uniform(random) : 1;
  return ns * Math.exp(noise.sampleDeviation * normal(random)) * outlier;
}

function simulatedBlock(random: RandomSource, trueRatio: number, noise: NoiseModel): MeasuredBlock {
  const shared = 100_000 * Math.exp(noise.sharedBlockDeviation * normal(random));
  const samplesOf = (contender: string, ns: number) => {
    const own = ns * Math.exp(noise.ownBlockDeviation * normal(random));
    return { contender, samplesNs: Array.from({ length: noise.samplesPerBlock }, () => sampleNs(random, own, noise)) };
  };
  return {
    samples: [samplesOf('candidate', shared), samplesOf('baseline', shared * trueRatio)],
    before: {},
    after: {},
  };
}

/** One comparison as the protocol makes it, on made-up samples whose true ratio (baseline ÷ candidate) is known. */
export function simulateComparison(trueRatio: number, noise: NoiseModel, seed: number): Comparison {
  const random = randomSource(seed);
  const blocks: MeasuredBlock[] = [];
  for (const look of LOOKS) {
    while (blocks.length < look) blocks.push(simulatedBlock(random, trueRatio, noise));
    const comparison = compareContenders(blocks, { candidate: 'candidate', baseline: 'baseline' }, seed + look);
    if (comparison.verdict !== 'ambiguous' || look === LOOKS.at(-1)) return comparison;
  }
  throw new Error('there is no look');
}
