/**
 * Compares a loop with one of 3 % more steps again and again by the protocol's `accept` tier: whatever is not called
 * slower is a miss. The true ratio is calibrated first and recorded; it must be 1.03 ± 0.002.
 *
 *     node bench/measuring/sensitivity.ts [--output docs/results/h200-sensitivity.json] [--count 50] [--minutes 9]
 */
import type { KnownRatioComparisons } from '../../scripts/results/measuring-recordings.ts';
import { calibrate, openLoopPair } from './calibration.ts';
import { compareRepeatedly, repeatOptions } from './compare-repeatedly.ts';
import { openBench } from './open-bench.ts';

const WANTED_RATIO = 1.03;
const TOLERANCE = 0.002;
/** Far from the seeds of the comparisons. */
const CALIBRATION_SEED = 1_000_000;

const options = repeatOptions({ output: 'docs/results/h200-sensitivity.json', count: 50 });
await using bench = await openBench(options.device);
const pair = await openLoopPair(bench, 'short');
await compareRepeatedly<KnownRatioComparisons>(bench, pair, options, async () => {
  const calibration = await calibrate(bench, CALIBRATION_SEED);
  process.stderr.write(`${JSON.stringify(calibration)}\n`);
  if (!(Math.abs(calibration.trueRatio - WANTED_RATIO) <= TOLERANCE))
    throw new Error(`the true ratio is ${calibration.trueRatio}, not ${WANTED_RATIO} ± ${TOLERANCE}`);
  return { calibration };
});
