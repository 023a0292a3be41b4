import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadProblemTarget } from '../../../../src/app/target.ts';
import { expandBuffers } from '../../../../src/core/plan/expand-buffers.ts';
import { encode } from '../../../../src/core/rounding.ts';
import { DECLARED } from '../../../../src/evaluation/oracle/check.ts';
import { disagreement } from '../../../../src/evaluation/oracle/disagreement.ts';
import { drawInputs } from '../../../../src/evaluation/oracle/draw-inputs.ts';
import { createExpectationCache, prepareCheck } from '../../../../src/evaluation/oracle/expectation-cache.ts';
import { expectationsFrom } from '../../../../src/evaluation/oracle/expectations.ts';
import { perturbedBytes } from '../../../../src/evaluation/oracle/perturbed-bytes.ts';
import type { ReferenceRuns } from '../../../../src/evaluation/oracle/reference-runs.ts';
import {
  disagreeBeside,
  drawBeside,
  expectBeside,
  perturbBeside,
} from '../../../../src/evaluation/oracle/threads/beside.ts';
import { createOracleThreads } from '../../../../src/evaluation/oracle/threads/oracle-threads.ts';
import { ThreadLost } from '../../../../src/process/task-threads.ts';
import { toyProblem } from '../../../support/toy-problem.ts';

const threads = createOracleThreads(2)!;
afterAll(() => threads.close());

/** Threads that are started from now on, until the test ends. */
function startedThreads(): Worker[] {
  const started: Worker[] = [];
  const note = (thread: Worker): void => void started.push(thread);
  process.on('worker', note);
  onTestFinished(() => void process.off('worker', note));
  return started;
}

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

  it('work side by side: what is quick does not wait for what is slow', async () => {
    const started = startedThreads();
    const two = createOracleThreads(2)!;
    const ended: string[] = [];
    const draw = async (name: string, seed: number, R = 5): Promise<void> => {
      await drawBeside(two, { problem, dimensions: { R, N: 2048 }, seed, generatorSet: DECLARED });
      ended.push(name);
    };
    // Both have started then.
    await Promise.all([draw('first', 1), draw('second', 2)]);
    const answers = started.map((thread) => {
      const answered: unknown[] = [];
      thread.on('message', (reply) => answered.push(reply));
      return answered;
    });
    await Promise.all([draw('slow', 3, 2000), draw('quick', 4)]);
    await two.close();
    expect(ended.slice(2)).toEqual(['quick', 'slow']);
    expect(answers.map((answered) => answered.length)).toEqual([1, 1]);
  });

  it('one that dies while it works has its work done here; another one takes what is asked next', async () => {
    const started = startedThreads();
    const two = createOracleThreads(2)!;
    const key = { problem, dimensions: { R: 2000, N: 2048 }, seed: 3, generatorSet: DECLARED };
    await drawBeside(two, { ...key, dimensions });
    const asked = vi.spyOn(two, 'ask');
    const drawing = drawBeside(two, key);
    await setImmediate();
    expect(started).toHaveLength(1);
    await started[0]!.terminate();
    await expect(asked.mock.results[0]!.value).rejects.toThrow(ThreadLost);
    const { bytes } = drawInputs({ ...key, buffers: expandBuffers(problem.file, key.dimensions) });
    expect(Buffer.compare((await drawing).bytes.get('X')!, bytes.get('X')!)).toBe(0);
    await drawBeside(two, { ...key, dimensions });
    expect(started).toHaveLength(2);
    await expect(asked.mock.results[1]!.value).resolves.toBeDefined();
    await two.close();
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

  it('perturb inputs as here, to the bit, and here if they are gone', async () => {
    const { bytes, tensors } = drawInputs({
      ...{ problem, dimensions, seed: 3, generatorSet: DECLARED },
      buffers: expandBuffers(problem.file, dimensions),
    });
    const closed = createOracleThreads(1)!;
    await closed.close();
    for (const run of [0, 1]) {
      const here = perturbedBytes(expandBuffers(problem.file, dimensions), { inputs: bytes, tensors }, run);
      expect(here).not.toEqual(bytes);
      for (const team of [threads, closed, undefined])
        expect(await perturbBeside(team, problem, dimensions, { inputs: bytes, tensors }, run)).toEqual(here);
    }
  });

  describe('what a reference gave', () => {
    const buffers = expandBuffers(problem.file, dimensions);
    const Y = buffers.find(({ name }) => name === 'Y')!;
    const runsOf = (scale = 1): ReferenceRuns => {
      const { tensors } = drawInputs({ problem, dimensions, seed: 3, generatorSet: DECLARED, buffers });
      return { oracle: { Y: tensors.X!.map((value) => scale * value) } };
    };
    const outputs = new Map([['Y', encode(runsOf().oracle.Y!, Y.dtype)]]);
    const never = () => Promise.reject(new Error('the reference ran again'));
    const isGone = ({ oracle }: ReferenceRuns) => (oracle.Y!.buffer as ArrayBuffer).detached;

    it.each([1, 1.5])('is compared as here, without a copy: %s of the outputs', async (scale) => {
      const runs = runsOf(scale);
      const here = disagreement(buffers, expectationsFrom(problem, buffers, dimensions, runsOf(scale)), outputs);
      expect(await disagreeBeside(threads, problem, dimensions, { runs, outputs, again: never })).toBe(here);
      expect(here === undefined).toBe(scale === 1);
      expect(isGone(runs)).toBe(true);
      expect(outputs.get('Y')!.length).toBe(Y.bytes);
    });

    it('stays here where nobody says how to have it again', async () => {
      const runs = runsOf();
      await expectBeside(threads, problem, dimensions, runs);
      expect(isGone(runs)).toBe(false);
    });

    it('is had again if it was lost with its thread', async () => {
      const started = startedThreads();
      const one = createOracleThreads(1)!;
      const again = vi.fn(async () => runsOf());
      const asked = expectBeside(one, problem, dimensions, runsOf(), again);
      await setImmediate(); // It has been started, and has not begun.
      await started[0]!.terminate();
      expect(await asked).toEqual(expectationsFrom(problem, buffers, dimensions, runsOf()));
      expect(again).toHaveBeenCalledTimes(1);
      await one.close();
    });

    it('is still here if no thread took it', async () => {
      const closed = createOracleThreads(1)!;
      await closed.close();
      const answer = await disagreeBeside(closed, problem, dimensions, { runs: runsOf(), outputs, again: never });
      expect(answer).toBeUndefined();
    });
  });

  it('none on a machine with few cores', () => {
    expect(createOracleThreads(0)).toBeUndefined();
  });
});
