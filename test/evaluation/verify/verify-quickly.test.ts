import { describe, expect, it } from 'vitest';
import type { Evaluation, EvaluationRequest } from '../../../src/core/evaluation.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { repeatKey } from '../../../src/evaluation/recording/repeat.ts';
import { isTimed } from '../../../src/optimizer/decision.ts';
import { createFakeDevice, type FakeKernel } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

const honest: FakeKernel = ({ load, store, launch }) => {
  const [x, w] = [load('X', 'f16'), load('W', 'f16')];
  const columns = x.length / launch.grid[0];
  const y = x.map((value, i) => Math.fround(value * w[Math.floor(i / columns)]!));
  store('Y', 'f16', y);
};
/** Right at every shape with as many rows as the timed one, and wrong at others. */
const rightAtTimedShape: FakeKernel = (launch) => (launch.launch.grid[0] === 16 ? honest(launch) : undefined);
/** Wrong in its last row, at the timed shape only. */
const wrongInLastRow: FakeKernel = (launch) => {
  honest(launch);
  const { grid } = launch.launch;
  if (grid[0] !== 16) return;
  const y = launch.load('Y', 'f16');
  y[y.length - 1] = 1234;
  launch.store('Y', 'f16', y);
};

const request: EvaluationRequest = {
  problem: toyProblem(),
  candidate: toyCandidate(),
  workload: toyWorkload,
  seed: 7,
  quick: true,
};

async function quickly(kernel: FakeKernel): Promise<{ evaluation: Evaluation; runs: number }> {
  const device = createFakeDevice({ kernel });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain() });
  const evaluation = await evaluator.evaluate(request);
  await evaluator.close();
  expect(device.liveBuffers.size).toBe(0);
  return { evaluation, runs: device.runs.length };
}

describe('a quick look', () => {
  it('runs two checks once each, counts, predicts, and verifies nothing', async () => {
    const { evaluation, runs } = await quickly(honest);
    expect(runs).toBe(2);
    expect(evaluation).toMatchObject({
      status: 'unverified',
      reason: expect.stringContaining('two checks'),
      correctness: { checksRun: 2 },
      coverage: { checkShapes: 1, drawnShapes: [], leftOut: [{ check: 'every other check' }] },
      timing: { kind: 'predicted' },
      counters: expect.any(Object),
      findings: expect.any(Array),
    });
  });

  it('is nothing that a search can keep, nor that can be given for a verdict later', async () => {
    const { evaluation } = await quickly(honest);
    expect(isTimed(evaluation)).toBe(false);
    const context = { store: {} as never, evaluatorDigest: '', problemDigest: () => '', isFresh: false };
    expect(repeatKey(request, context)).toBeUndefined();
    expect(repeatKey({ ...request, quick: false }, context)).toBeDefined();
  });

  it('says what it sees to be wrong, at a small shape and at the timed one', async () => {
    const small = await quickly(rightAtTimedShape);
    expect(small.evaluation).toMatchObject({ status: 'wrong', failedCheck: expect.stringContaining('R=3') });
    // One more to learn who wrote it.
    expect(small.runs).toBe(2);
    const timed = await quickly(wrongInLastRow);
    expect(timed.evaluation).toMatchObject({ status: 'wrong', failedCheck: expect.stringContaining('R=16') });
    expect(timed.evaluation.timing).toBeUndefined();
  });
});
