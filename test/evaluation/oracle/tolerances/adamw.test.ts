import { describe, expect, it } from 'vitest';
import { inProcess } from '../../../../src/core/call-reference.ts';
import type { ReferenceTensors } from '../../../../src/core/problem.ts';
import { compareOutput } from '../../../../src/evaluation/oracle/compare.ts';
import { prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { adamwReference, PROBLEMS } from '../../../honest/problems.ts';

const N = 262_144;
const f = Math.fround;
const adamw = PROBLEMS.adamw;
const problem = {
  ...adamw,
  file: { ...adamw.file, dimensions: { N: { description: '', minimum: 1, maximum: N } } },
};

/** The kernel `folded` of test/honest/kernels/adamw.cu, operation by operation in fp32. */
const inFp32 = ({ p, g, m, v }: ReferenceTensors): Float64Array => {
  const [lr, b1, b2, decay] = [f(1e-3), f(0.9), f(0.999), f(0.01)];
  const scale = f(lr / f(0.6513215599));
  const keep = f(1 - f(lr * decay));
  return p!.map((value, i) => {
    const momentum = f(f(1 - b1) * f(g![i]! - m![i]!) + m![i]!);
    const square = f(f(1 - b2) * f(f(g![i]! * g![i]!) - v![i]!) + v![i]!);
    const root = f(f(Math.sqrt(square) / f(Math.sqrt(f(0.0099551202)))) + f(1e-8));
    return f(value * keep - f(f(scale * momentum) / root));
  });
};

describe('262,144 AdamW parameters', async () => {
  const prepared = prepareCheck({ problem, dimensions: { N }, generatorSet: 'declared', seed: 7 });
  const { tensors } = prepared.inputs;
  const expectation = (await prepared.expectations()).get('next')!;
  const judge = (got: Float64Array) => compareOutput({ name: 'next', shape: [N] }, expectation, got);
  const honest = inFp32(tensors);

  it('pass, though in some the parameter and the step nearly cancel', async () => {
    // There the reference on absolute values is far smaller than what is rounded: no bound for the error.
    const absolute = Object.fromEntries(Object.entries(tensors).map(([name, values]) => [name, values.map(Math.abs)]));
    const run = { inputs: absolute, dimensions: { N }, rounding: 'exact' } as const;
    const magnitude = (await inProcess(adamwReference)(run)).next!;
    const bound = 2 * 2 ** -24 * Math.sqrt(12);
    const beyond = honest.filter((value, i) => {
      const want = expectation.want[i]!;
      return Math.abs(value - want) > bound * Math.abs(magnitude[i]!) + Math.abs(want) * 2 ** -24;
    });
    expect(beyond.length).toBeGreaterThan(0);
    expect(judge(honest)).toMatchObject({ passed: true });
    expect(judge(honest).worstErrorRatio).toBeLessThan(0.75);
  });

  it.each([
    ['left as it was', (i: number) => tensors.p![i]!],
    ['without its decay', (i: number) => honest[i]! + 1e-5 * tensors.p![i]!],
    ['another one', (i: number) => honest[i + 1]!],
  ])('fail where a single one is %s', (_, wrong) => {
    for (const i of [0, 77_777, N - 2]) {
      const got = honest.slice();
      got[i] = wrong(i);
      expect(judge(got).firstWrong).toMatchObject({ index: [i], wrongCount: 1 });
    }
  });
});
