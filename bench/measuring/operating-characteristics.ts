/**
 * How often the whole procedure (looks at 10, 15, … 30 blocks) says what, on made-up noise of known size: the share of
 * each verdict by true ratio and by how much a block changes one contender alone.
 *
 *     node bench/measuring/operating-characteristics.ts [comparisons of each kind, 500]
 */
import { VERDICTS } from '../../src/core/vocabulary.ts';
import { QUIET_GPU, simulateComparison } from './simulated-noise.ts';

const TRUE_RATIOS = [1, 1.005, 1.01, 1.02, 1.03, 1 / 1.03, 1.05];
const OWN_BLOCK_DEVIATIONS = [0.001, 0.003, 0.01, 0.02, 0.05];

const count = Number(process.argv[2] ?? 500);
console.log(['true ratio', 'block deviation', ...VERDICTS].map((title) => title.padStart(15)).join(' '));
for (const trueRatio of TRUE_RATIOS) {
  for (const ownBlockDeviation of OWN_BLOCK_DEVIATIONS) {
    const verdicts = Array.from(
      { length: count },
      (_, index) => simulateComparison(trueRatio, { ...QUIET_GPU, ownBlockDeviation }, 1000 * index + 1).verdict,
    );
    const shares = VERDICTS.map((verdict) => verdicts.filter((one) => one === verdict).length / count);
    const cells = [
      trueRatio.toFixed(4),
      `${100 * ownBlockDeviation} %`,
      ...shares.map((s) => `${(100 * s).toFixed(1)} %`),
    ];
    console.log(cells.map((cell) => cell.padStart(15)).join(' '));
  }
}
