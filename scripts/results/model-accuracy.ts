import type { ModelPair } from './recordings.ts';

/** Two measured times nearer than this are a tie, and no ranking. */
const TIE_RATIO = 0.03;

/** Kendall's τ between the measured and the predicted ranking, measured ties left out. */
export const kendallTau = (pairs: readonly ModelPair[]): number => {
  let [balance, count] = [0, 0];
  pairs.forEach((a, i) => {
    for (const b of pairs.slice(0, i)) {
      if (Math.abs(a.measuredNs / b.measuredNs - 1) < TIE_RATIO) continue;
      balance += Math.sign(a.measuredNs - b.measuredNs) * Math.sign(a.predictedNs - b.predictedNs);
      count += 1;
    }
  });
  return balance / count;
};

/** Predicted ÷ measured or its inverse, whichever is above 1. */
export const errorFactor = ({ predictedNs, measuredNs }: ModelPair): number =>
  Math.max(predictedNs / measuredNs, measuredNs / predictedNs);

export const geometricMean = (values: readonly number[]): number =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

export const isWithinInterval = ({ measuredNs, intervalNs: [low, high] }: ModelPair): boolean =>
  measuredNs >= low && measuredNs <= high;
