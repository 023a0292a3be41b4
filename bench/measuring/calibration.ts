import type { Calibration } from '../../scripts/results/measuring-recordings.ts';
import type { Comparison } from '../../src/core/measurement.ts';
import { type Bench, type ComparedPair, comparePair, openPair } from './open-bench.ts';

export const LOOP_KERNEL = 'bench/measuring/kernels/calibrated-loop/loop';
export const EXTRA_PERMILLE = 30;

const CALIBRATION_BLOCKS = 20;

/** The candidate does thirty steps more in every thousand. */
export const openLoopPair = (bench: Bench, workload: string) =>
  openPair(bench, {
    kernel: LOOP_KERNEL,
    workload,
    candidate: { EXTRA_PERMILLE },
    baseline: { EXTRA_PERMILLE: 0 },
  });

/** A calibration that fails is no calibration. */
async function compared(bench: Bench, workload: string, seed: number): Promise<ComparedPair & { ok: true }> {
  const outcome = await comparePair(bench, await openLoopPair(bench, workload), seed, CALIBRATION_BLOCKS);
  if (!outcome.ok) throw new Error(`calibration at ${workload}: ${outcome.reason}`);
  return outcome;
}

/**
 * What the samples' true ratio is. Steps all cost the same, so that at 16 times the steps the ratio of times is that of
 * steps but for what is fixed about a launch; how much that is at the short size follows from doubling the steps.
 */
export async function calibrate(bench: Bench, seed: number): Promise<Calibration> {
  const { comparison: long } = await compared(bench, 'long', seed);
  const { baselineNs: shortNs } = await compared(bench, 'short', seed + 1);
  const { baselineNs: doubleNs } = await compared(bench, 'double', seed + 2);
  return calibrationOf({ long, shortNs, doubleNs });
}

/** @param measured `long` is baseline ÷ candidate; the calibration says how much slower the candidate is. */
export function calibrationOf(measured: {
  long: Pick<Comparison, 'ratio' | 'intervalRatio'>;
  shortNs: number;
  doubleNs: number;
}): Calibration {
  const { long, shortNs, doubleNs } = measured;
  const fixedNs = 2 * shortNs - doubleNs;
  const longRatio = 1 / long.ratio;
  return {
    stepRatio: 1 + EXTRA_PERMILLE / 1000,
    longRatio,
    longIntervalRatio: [1 / long.intervalRatio[1], 1 / long.intervalRatio[0]],
    shortNs,
    doubleNs,
    fixedNs,
    trueRatio: 1 + (longRatio - 1) * (1 - fixedNs / shortNs),
  };
}
