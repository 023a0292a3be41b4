/**
 * How far honest serial sums are from a problem's tolerance where rows are long and arranged: what bounds the lengths and contrasts that the referee judges (LONG_CALIBRATED_SUM,
 * LONGEST_ARRANGED, LONGEST_CONTRASTED). Rows are summed in fp32, one value after the other, as softmax/01_naive and layernorm/01_naive do, and attention key by key.
 *
 *     node bench/referee/serial-sums.ts attention|softmax|layernorm LENGTH SEEDS [GENERATOR SET]
 *
 * Prints, for each row, its largest error ÷ tolerance if that is above a half, and how many are above 1.
 */
import { join } from 'node:path';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import type { Dimensions } from '../../src/core/problem.ts';
import { roundTo } from '../../src/core/rounding.ts';
import { prepareCheck } from '../../src/evaluation/oracle/expectation-cache.ts';

const PROBLEMS = join(import.meta.dirname, '../../problems');
const { fround } = Math;
const serialSum = (values: Float64Array): number => values.reduce((sum, value) => fround(sum + value), 0);

type Tensors = Readonly<Record<string, Float64Array>>;

/** A problem's kernel, the shape with rows of such a length, and the output that is compared. */
interface SerialKernel {
  readonly output: string;
  readonly shapeOf: (length: number) => Dimensions;
  readonly run: (inputs: Tensors) => Float64Array;
}

const HEAD_DIM = 64;

const KERNELS: Readonly<Record<string, SerialKernel>> = {
  attention: {
    output: 'O',
    shapeOf: (length) => ({
      ...{ B: 1, H: 1, S: 1, D: HEAD_DIM, causal: 0, Hkv: 1, Skv: length, bottomRight: 0, bshd: 0, lse: 0 },
    }),
    run: ({ Q, K, V }) => onlineSoftmax(Q!, K!, V!),
  },
  softmax: {
    output: 'Y',
    shapeOf: (length) => ({ R: 1, N: length }),
    run({ X }) {
      const most = X!.reduce((largest, value) => Math.max(largest, value), Number.NEGATIVE_INFINITY);
      const weights = X!.map((value) => fround(Math.exp(fround(value - most))));
      const sum = serialSum(weights);
      return weights.map((weight) => fround(weight / sum));
    },
  },
  layernorm: {
    output: 'Y',
    shapeOf: (length) => ({ R: 1, N: length }),
    run({ X, gamma, beta }) {
      const mean = fround(serialSum(X!) / X!.length);
      const deviations = X!.map((value) => fround(value - mean));
      const variance = serialSum(deviations.map((value) => fround(value * value))) / X!.length;
      const inverse = fround(1 / Math.sqrt(fround(fround(variance) + fround(1e-5))));
      return deviations.map((value, i) => fround(fround(fround(value * inverse) * gamma![i]!) + beta![i]!));
    },
  },
};

/** Of one query, a tile of keys after the other, as most kernels of attention's ladder. Keys are [Skv, D]. */
function onlineSoftmax(query: Float64Array, keys: Float64Array, values: Float64Array): Float64Array {
  const scale = fround(1 / Math.sqrt(HEAD_DIM));
  let [most, sum] = [Number.NEGATIVE_INFINITY, 0];
  const output = new Float64Array(HEAD_DIM);
  const scores = new Float64Array(TILE);
  for (let first = 0; first < keys.length / HEAD_DIM; first += TILE) {
    const count = Math.min(TILE, keys.length / HEAD_DIM - first);
    for (let key = 0; key < count; key++) {
      let score = 0;
      for (let d = 0; d < HEAD_DIM; d++) score = fround(score + query[d]! * keys[(first + key) * HEAD_DIM + d]!);
      scores[key] = fround(score * scale);
    }
    const larger = scores.subarray(0, count).reduce((a, b) => Math.max(a, b), most);
    const correction = fround(Math.exp(fround(most - larger)));
    most = larger;
    sum = fround(sum * correction);
    for (let d = 0; d < HEAD_DIM; d++) output[d] = fround(output[d]! * correction);
    for (let key = 0; key < count; key++) {
      const weight = fround(Math.exp(fround(scores[key]! - most)));
      sum = fround(sum + weight);
      for (let d = 0; d < HEAD_DIM; d++)
        output[d] = fround(output[d]! + weight * values[(first + key) * HEAD_DIM + d]!);
    }
  }
  return output.map((value) => roundTo('f16')(fround(value * fround(1 / sum))));
}

const TILE = 64;

const [name = '', length, seeds, generatorSet = 'secret:rows'] = process.argv.slice(2);
const kernel = KERNELS[name];
if (!kernel || !length || !seeds)
  throw new Error('usage: serial-sums.ts attention|softmax|layernorm LENGTH SEEDS [GENERATOR SET]');
const problem = await loadProblem(join(PROBLEMS, name));
let beyond = 0;
for (let seed = 1; seed <= Number(seeds); seed++) {
  const check = prepareCheck({ problem, dimensions: kernel.shapeOf(Number(length)), seed, generatorSet });
  const { want, tolerances } = (await check.expectations()).get(kernel.output)!;
  const got = kernel.run(check.inputs.tensors);
  const worst = got.reduce((most, value, i) => Math.max(most, Math.abs(value - want[i]!) / tolerances[i]!), 0);
  if (!(worst <= 0.5)) process.stdout.write(`seed ${seed}: ${worst.toFixed(2)}\n`);
  if (!(worst <= 1)) beyond += 1;
}
process.stdout.write(`${beyond} of ${seeds} rows of ${length} values beyond the tolerance (${generatorSet})\n`);
process.exit(0);
