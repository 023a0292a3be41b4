import { afterAll, describe, expect, it, vi } from 'vitest';
import { loadProblemTarget } from '../../../../src/app/target.ts';
import { expandBuffers } from '../../../../src/core/plan/expand-buffers.ts';
import { DECLARED } from '../../../../src/evaluation/oracle/check.ts';
import { drawInputs } from '../../../../src/evaluation/oracle/draw-inputs.ts';
import { createExpectationCache, prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { drawBeside, expectBeside } from '../../../../src/evaluation/oracle/threads/beside.ts';
import { createOracleThreads } from '../../../../src/evaluation/oracle/threads/oracle-threads.ts';
import { ThreadLost } from '../../../../src/process/task-threads.ts';
import { toyProblem } from '../../../support/toy-problem.ts';

const threads = createOracleThreads(2)!;
afterAll(() => threads.close());

const { problem } = await loadProblemTarget('softmax');
const dimensions = { R: 5, N: 2048 };
const SETS = [DECLARED, ...Object.keys(problem.file.generatorSets ?? {}), 'secret:rows'];

describe('threads that work on checks', () => {
  it('draw what is drawn here, to the bit', async () => {
    for (const generatorSet of SETS) {
      const key = { problem, dimensions, seed: 3, generatorSet };
      const here = drawInputs({ ...key, buffers: expandBuffers(problem.file, dimensions) });
      expect(await drawBeside(threads, key)).toEqual(here);
    }
  });

  it('give the expectations that are given here', async () => {
    const key = { problem, dimensions, seed: 3, generatorSet: DECLARED };
    const [here, beside] = [prepareCheck(key), prepareCheck(key, { threads })];
    expect(await beside.expectations()).toEqual(await here.expectations());
    expect(await beside.drawAgain(4)).toEqual(await here.drawAgain(4));
  });

  it('work side by side', async () => {
    const key = { problem, dimensions, generatorSet: DECLARED };
    const drawn = await Promise.all([1, 2, 3, 4, 5].map((seed) => drawBeside(threads, { ...key, seed })));
    expect(new Set(drawn.map(({ bytes }) => Buffer.from([...bytes.values()][0]!).toString('hex'))).size).toBe(5);
  });

  it('a mistake of the problem comes back as it is', async () => {
    const overflowing = toyProblem({
      inputs: {
        X: { dtype: 'f16', shape: ['R', 'C'], access: 'in', generator: { kind: 'uniform', low: 1e6, high: 2e6 } },
        W: toyProblem().file.inputs.W!,
      },
    });
    const key = { problem: overflowing, dimensions: { R: 3, C: 17 }, seed: 1, generatorSet: DECLARED };
    const codeOf = (drawing: Promise<unknown>) =>
      drawing.then(
        () => 'drawn',
        (error) => [error.name, error.details?.code],
      );
    expect(await codeOf(drawBeside(threads, key))).toEqual(await codeOf(drawBeside(undefined, key)));
    expect(await codeOf(drawBeside(threads, key))).toEqual(['WarpsmithError', 'generator-overflow']);
  });

  it('a cache knows what was drawn ahead, and draws it once', async () => {
    const asked = vi.spyOn(threads, 'ask');
    const oracle = createExpectationCache({ threads });
    const key = { problem, dimensions, seed: 9, generatorSet: DECLARED };
    await oracle.ahead(key);
    await oracle.ahead(key);
    expect(asked).toHaveBeenCalledTimes(1);
    const { inputs } = oracle.check(key);
    expect(inputs).toEqual(drawInputs({ ...key, buffers: expandBuffers(problem.file, dimensions) }));
    expect(oracle.check(key).inputs).toBe(inputs);
  });

  it('where they are gone, the work is done here', async () => {
    const closed = createOracleThreads(1)!;
    await closed.close();
    const key = { problem, dimensions, seed: 3, generatorSet: DECLARED };
    await expect(closed.ask('draw', { ...key, folder: problem.folder, file: problem.file })).rejects.toThrow(
      ThreadLost,
    );
    const drawn = await drawBeside(closed, key);
    expect(drawn).toEqual(await drawBeside(threads, key));
    const runs = { oracle: { Y: drawn.tensors.X! }, naive: { Y: drawn.tensors.X! }, perturbed: [] };
    expect(await expectBeside(closed, problem, dimensions, runs)).toEqual(
      await expectBeside(threads, problem, dimensions, runs),
    );
  });

  it('none on a machine with few cores', () => {
    expect(createOracleThreads(0)).toBeUndefined();
  });
});
