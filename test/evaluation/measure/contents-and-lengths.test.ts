import { describe, expect, it } from 'vitest';
import type { Evaluation } from '../../../src/core/evaluation.ts';
import type { Candidate } from '../../../src/core/kernel.ts';
import type { Problem } from '../../../src/core/problem.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { createFakeDevice, type FakeKernel } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { withMeasuring } from '../../support/measuring-device.ts';
import { longTests, sampled } from '../../support/sampling/matrix.ts';
import { product, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

const evaluate = (problem: Problem, candidate: Candidate, kernel: FakeKernel): Promise<Evaluation> => {
  const device = withMeasuring(createFakeDevice({ kernel }), { sequenceNs: () => 20_000 });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain(), secret: 1 });
  return evaluator.evaluate({ problem, candidate, workload: toyWorkload, seed: 1, blocks: 2 });
};

const { Y } = toyProblem().file.outputs;
const half = toyProblem({ outputs: { Y: { ...Y!, significant: { first: 'ceilDiv(C, 2)', axis: 1 } } } });

/** Stores the first elements of every row, and the product elsewhere if asked. */
const storingHalf = (wrongFrom = Number.POSITIVE_INFINITY): FakeKernel => {
  let launches = 0;
  return (launch) => {
    const values = product(launch);
    const [rows] = launch.launch.grid;
    const columns = values.length / rows;
    const kept = Math.ceil(columns / 2);
    const isWrong = ++launches >= wrongFrom;
    for (let row = 0; row < rows; row++) {
      const own = values.subarray(row * columns, row * columns + kept);
      launch.store('Y', 'f16', isWrong ? own.map((value) => value + 1) : own, row * columns);
    }
    return undefined;
  };
};

describe('an output of which not all elements matter', () => {
  long('is measured though the others are never written', async () => {
    const { status, timing, reason } = await evaluate(half, toyCandidate(), storingHalf());
    expect([status, reason]).toEqual(['passed', undefined]);
    expect(timing).toMatchObject({ kind: 'measured' });
  });

  it('must be written where all matter', async () => {
    expect((await evaluate(toyProblem(), toyCandidate(), storingHalf())).status).toBe('wrong');
  });

  /** Launches of a whole evaluation; the first half of them at least verify. */
  const launchCount = async (): Promise<number> => {
    let count = 0;
    await evaluate(half, toyCandidate(), (launch) => {
      count++;
      return storingHalf()(launch);
    });
    return count;
  };

  long('is compared where it matters while it is timed', async () => {
    const { status, reason } = await evaluate(half, toyCandidate(), storingHalf(Math.ceil((await launchCount()) / 2)));
    expect(status).toBe('wrong');
    expect(reason).toMatch(/right when verified, (?:wrong|not) when timed/);
  });

  sampled('wrong while timed', ['leaves out', 'is wrong in'], { oneIn: 2 })(
    'a kernel that %s every fifth launch while it is timed',
    async (what) => {
      const from = Math.ceil((await launchCount()) / 2);
      let launches = 0;
      const { status, reason } = await evaluate(half, toyCandidate(), (launch) => {
        if (++launches < from || launches % 5 !== 0) return storingHalf()(launch);
        return what === 'leaves out' ? undefined : storingHalf(0)(launch);
      });
      expect(status).toBe('wrong');
      expect(reason).toMatch(/right when verified, (?:wrong|not) when timed/);
    },
  );
});

describe('a workspace with contents', () => {
  const withContents = (value: number): Candidate =>
    toyCandidate({
      workspaces: { ones: { bytes: 6, init: 'once', contents: { dtype: 'f16', values: [1, value, 1] } } },
      steps: [
        {
          function: 'kernel',
          grid: ['R'],
          block: [32],
          arguments: [{ buffer: 'X' }, { buffer: 'W' }, { buffer: 'Y' }, { buffer: 'ones' }],
        },
      ],
    });
  const multiplied: FakeKernel = (launch) => {
    const ones = launch.load('ones', 'f16');
    launch.store(
      'Y',
      'f16',
      product(launch).map((value, i) => value * ones[i % 3]!),
    );
    return undefined;
  };

  long('holds them in every slot', async () => {
    const { status, timing, reason } = await evaluate(toyProblem(), withContents(1), multiplied);
    expect([status, reason]).toEqual(['passed', undefined]);
    expect(timing).toMatchObject({ kind: 'measured' });
  });

  it('and no others', async () => {
    expect((await evaluate(toyProblem(), withContents(2), multiplied)).status).toBe('wrong');
  });
});
