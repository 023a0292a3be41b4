import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadProblem } from '../../../../src/app/loading/load-problem.ts';
import { prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { variantSetsOf } from '../../../../src/evaluation/oracle/secret/sets-of-problem.ts';
import { variantsForLongRows } from '../../../../src/evaluation/oracle/secret/variants/index.ts';

const problem = await loadProblem(join(import.meta.dirname, '../../../../problems/softmax'));
const N = 1_248_838;

/** What one thread loses that adds a row's exponentials in fp32, ÷ their sum. */
function lossOfSerialSum(row: ArrayLike<number>): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < row.length; i++) most = Math.max(most, row[i]!);
  let [serial, exact] = [0, 0];
  for (let i = 0; i < row.length; i++) {
    serial = Math.fround(serial + Math.fround(Math.exp(Math.fround(row[i]! - most))));
    exact += Math.exp(row[i]! - most);
  }
  return Math.abs(serial / exact - 1);
}

it.each(['declared', ...variantsForLongRows(problem.file, variantSetsOf(problem.file))])(
  'a serial softmax of a million values bears %s inputs in the longest rows',
  (generatorSet) => {
    const { inputs } = prepareCheck({ problem, dimensions: { R: 1, N }, seed: 1, generatorSet });
    const { comparison } = problem.file;
    if (comparison.kind !== 'ulp') throw new Error('softmax counts units in the last place');
    // A unit is 2^-23 to 2^-24 of a number.
    expect(lossOfSerialSum(inputs.tensors.X!)).toBeLessThan((comparison.maximumUlps + Math.sqrt(N)) * 2 ** -24);
  },
);
