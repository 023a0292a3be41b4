import { describe, expect, it } from 'vitest';
import type { Evaluation, EvaluationRequest } from '../../../src/core/evaluation.ts';
import type { KernelFile } from '../../../src/core/kernel.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { repeatKey } from '../../../src/evaluation/recording/repeat.ts';
import { isTimed } from '../../../src/optimizer/decision.ts';
import { createFakeDevice, type FakeDevice, type FakeKernel, type FakeLaunch } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { product, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

const SAMPLED = 4;
const { R, C } = toyWorkload.dimensions as { R: number; C: number };

/** CTA r writes row r, but for the rows that a sample leaves out: all from the fourth on. */
function storeRows(launch: FakeLaunch, change = (y: Float64Array): Float64Array => y): void {
  const { grid } = launch.launch;
  const y = change(product(launch));
  launch.store(
    'Y',
    'f16',
    y.subarray(0, (y.length / grid[0]) * Math.min(grid[0], launch.options.sampleCtas ?? grid[0])),
  );
}

const honest: FakeKernel = (launch) => storeRows(launch);

/** Wrong in one element of the timed shape. */
const wrongAt =
  (row: number): FakeKernel =>
  (launch) =>
    storeRows(launch, (y) => (launch.launch.grid[0] === R ? y.fill(1234, row * C + 7, row * C + 8) : y));

const request: EvaluationRequest = {
  problem: toyProblem(),
  candidate: toyCandidate(),
  workload: toyWorkload,
  seed: 7,
  sampleCtas: SAMPLED,
};

async function judge(
  kernel: FakeKernel,
  changes: Partial<KernelFile> = {},
): Promise<{ evaluation: Evaluation; device: FakeDevice }> {
  const device = createFakeDevice({
    kernel,
    later: () => ({ ok: false, status: 'crashed', message: 'out of bounds' }),
  });
  const evaluator = createLiveEvaluator({ device, toolchain: createFakeToolchain() });
  const evaluation = await evaluator.evaluate({ ...request, candidate: toyCandidate(changes) });
  await evaluator.close();
  expect(device.liveBuffers.size).toBe(0);
  return { evaluation, device };
}

describe('a sample of the CTAs', () => {
  it('is counted after whole verification at other shapes, and verifies nothing at its own', async () => {
    const { evaluation, device } = await judge(honest);
    expect(evaluation).toMatchObject({
      status: 'unverified',
      reason:
        '4 of 16 CTAs of the workload ran, and only other shapes were verified; leave --sample-ctas out to verify it',
      timing: { kind: 'predicted' },
      coverage: {
        checkShapes: 1,
        generatorSets: [],
        sampledCtas: { run: SAMPLED, of: R, comparedElements: SAMPLED * C },
        leftOut: [{ check: 'every check at R=16, C=64' }],
      },
    });
    const timed = device.runs.filter(({ sampleCtas }) => sampleCtas !== undefined);
    expect(timed).toMatchObject([{ sampleCtas: SAMPLED, count: true }]);
    expect(device.runs.filter(({ count }) => count)).toHaveLength(1);
    expect(evaluation.correctness!.checksRun).toBe(device.runs.length - 1);
  });

  it('claims no size as large as its own', async () => {
    const { evaluation } = await judge(honest, { limits: ['R <= 16', 'C <= 64'] });
    const { elements, dimensions } = evaluation.coverage!.compared!;
    expect(elements.Y).toBeLessThan(R * C);
    expect(dimensions).toMatchObject({ R: { most: expect.any(Number) } });
  });

  it('is wrong where what it wrote is wrong, and knows nothing of the rest', async () => {
    const [seen, unseen] = [await judge(wrongAt(3)), await judge(wrongAt(4))];
    expect(seen.evaluation).toMatchObject({
      status: 'wrong',
      reason: expect.stringContaining('Y[3, 7]'),
      failedCheck: expect.stringContaining('a sample of 4 CTAs'),
    });
    expect(unseen.evaluation.status).toBe('unverified');
  });

  it('compares nothing where a later launch follows from CTAs that were left out, nor blames it for what they left', async () => {
    const [step] = toyCandidate().kernel.file.steps;
    const again = { ...step!, when: 'R == 16' };
    const { evaluation } = await judge(wrongAt(3), { steps: [step!, again] });
    expect(evaluation).toMatchObject({
      status: 'unverified',
      coverage: { sampledCtas: { run: 8, of: 32, comparedElements: 0 } },
    });
    const stopped = await judge(honest, { steps: [step!, { ...again, function: 'later' }] });
    expect(stopped.evaluation).toMatchObject({
      status: 'unsupported',
      reason: expect.stringContaining('out of bounds'),
      correctness: { checksRun: expect.any(Number) },
    });
  });

  it('says so if the kernel takes no other shape', async () => {
    const { evaluation } = await judge(honest, { limits: ['R == 16', 'C == 64'] });
    expect(evaluation).toMatchObject({ status: 'unverified', reason: expect.stringContaining('nothing was verified') });
    expect(evaluation.coverage!.compared).toBeUndefined();
  });

  it('is nothing that a search can keep, nor that can be given for a verdict later', async () => {
    const { evaluation } = await judge(honest);
    expect(isTimed(evaluation)).toBe(false);
    const context = { store: {} as never, evaluatorDigest: '', problemDigest: () => '', isFresh: false };
    expect(repeatKey(request, context)).toBeUndefined();
  });
});
