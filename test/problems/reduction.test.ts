import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { reference } from '../../problems/reduction/reference.ts';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { prepareCheck } from '../../src/evaluation/oracle/expectation-cache.ts';
import { describeLadder } from './support/ladder.ts';

const exact = (value: number): number => value;

describe('the reference of reduction', () => {
  it('gives Gauss’s sum of 1 to N', () => {
    for (const N of [1, 2, 100, 12_345]) {
      const x = Float64Array.from({ length: N }, (_, i) => i + 1);
      expect([...reference({ x }, { N }, exact).y!]).toEqual([(N * (N + 1)) / 2]);
    }
  });

  it('does not lose small terms beside large ones that cancel', () => {
    const x = Float64Array.of(2 ** 40, 1, -(2 ** 40), 2);
    expect([...reference({ x }, { N: 4 }, exact).y!]).toEqual([3]);
  });

  it('rounds every addition: in fp32, ones stop adding up at 2^24', () => {
    const x = Float64Array.of(2 ** 24, 1, 1, 1);
    expect([...reference({ x }, { N: 4 }, Math.fround).y!]).toEqual([2 ** 24]);
    expect([...reference({ x }, { N: 4 }, exact).y!]).toEqual([2 ** 24 + 3]);
  });
});

it('a lone sum is given what its terms lose, whatever a few runs on changed inputs tell by chance', async () => {
  const problem = await loadProblem(path.resolve(import.meta.dirname, '../../problems/reduction'));
  // Of the first one, four runs tell a twenty-fourth of √Σ x²; what they refuse, more runs judge.
  for (const seed of [403_725_768, 1, 2, 3, 4]) {
    const { inputs, surerExpectations } = prepareCheck({
      problem,
      seed,
      dimensions: { N: 1518 },
      generatorSet: 'alternating',
    });
    const { tolerances } = (await surerExpectations!()).get('y')!;
    const condition = Math.hypot(...inputs.tensors.x!);
    expect(tolerances[0]! / (2 ** -24 * Math.sqrt(1518) * 3 * condition)).toBeGreaterThan(1 / 4);
  }
});

describeLadder({
  problem: 'reduction',
  rungs: ['01_atomics', '02_shared_tree', '03_shuffles', '04_two_pass'],
  ragged: { N: 5003 },
  search: { N: 262_144 },
  narrow: ['N <= 32768 || N == 262144', 'N % 1024 == 0 || N == 8191'],
  referenceError: 1e-13,
});
