/**
 * How far honest serial sums are from a problem's tolerance where rows are long and arranged: what bounds the lengths and contrasts that the referee judges (LONG_CALIBRATED_SUM,
 * LONGEST_ARRANGED, LONGEST_CONTRASTED). Rows are summed in fp32, one value after the other, as softmax/01_naive and layernorm/01_naive do.
 *
 *     node bench/referee/serial-sums.ts softmax|layernorm LENGTH SEEDS [GENERATOR SET]
 *
 * Prints, for each row, its largest error ÷ tolerance if that is above a half, and how many are above 1.
 */
import { join } from 'node:path';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { prepareCheck } from '../../src/evaluation/oracle/expectation-cache.ts';

const PROBLEMS = join(import.meta.dirname, '../../problems');
const { fround } = Math;
const serialSum = (values: Float64Array): number => values.reduce((sum, value) => fround(sum + value), 0);

type Tensors = Readonly<Record<string, Float64Array>>;

const KERNELS: Readonly<Record<string, { output: string; run: (inputs: Tensors) => Float64Array }>> = {
  softmax: {
    output: 'Y',
    run({ X }) {
      const most = X!.reduce((largest, value) => Math.max(largest, value), Number.NEGATIVE_INFINITY);
      const weights = X!.map((value) => fround(Math.exp(fround(value - most))));
      const sum = serialSum(weights);
      return weights.map((weight) => fround(weight / sum));
    },
  },
  layernorm: {
    output: 'Y',
    run({ X, gamma, beta }) {
      const mean = fround(serialSum(X!) / X!.length);
      const deviations = X!.map((value) => fround(value - mean));
      const variance = serialSum(deviations.map((value) => fround(value * value))) / X!.length;
      const inverse = fround(1 / Math.sqrt(fround(fround(variance) + fround(1e-5))));
      return deviations.map((value, i) => fround(fround(fround(value * inverse) * gamma![i]!) + beta![i]!));
    },
  },
};

const [name = '', length, seeds, generatorSet = 'secret:rows'] = process.argv.slice(2);
const kernel = KERNELS[name];
if (!kernel || !length || !seeds)
  throw new Error('usage: serial-sums.ts softmax|layernorm LENGTH SEEDS [GENERATOR SET]');
const problem = await loadProblem(join(PROBLEMS, name));
let beyond = 0;
for (let seed = 1; seed <= Number(seeds); seed++) {
  const check = prepareCheck({ problem, dimensions: { R: 1, N: Number(length) }, seed, generatorSet });
  const { want, tolerances } = (await check.expectations()).get(kernel.output)!;
  const got = kernel.run(check.inputs.tensors);
  const worst = got.reduce((most, value, i) => Math.max(most, Math.abs(value - want[i]!) / tolerances[i]!), 0);
  if (!(worst <= 0.5)) process.stdout.write(`seed ${seed}: ${worst.toFixed(2)}\n`);
  if (!(worst <= 1)) beyond += 1;
}
process.stdout.write(`${beyond} of ${seeds} rows of ${length} values beyond the tolerance (${generatorSet})\n`);
process.exit(0);
