import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSession, type Session } from '../../src/app/session.ts';
import { listDevices } from '../../src/devices/open-device.ts';
import { redTeamKernels } from './expected.ts';
import { HONEST_CANDIDATES } from './honest.ts';
import { HONEST_WORKLOAD, judgeRedTeamKernel, RUN_TIMEOUT_SECONDS, requestFor } from './judge-on-gpu.ts';

const GPU = 'cuda:0';
const hasGpu = listDevices().some(({ id }) => id === GPU);

/** `WARPSMITH_HONEST_EVALUATIONS=200` is the whole claim; a few show that nothing is broken. */
const HONEST_EVALUATIONS = Number(process.env.WARPSMITH_HONEST_EVALUATIONS ?? HONEST_CANDIDATES.length);

let session: Session;

beforeAll(async () => {
  if (hasGpu) session = await openSession({ device: GPU, runTimeoutSeconds: RUN_TIMEOUT_SECONDS });
});

afterAll(async () => {
  await session?.[Symbol.asyncDispose]();
});

describe.skipIf(!hasGpu)(`the red team on ${GPU} (skipped without an NVIDIA GPU)`, () => {
  it.each(redTeamKernels())('%s is seen through', async (name) => {
    const { evaluation, disagreements } = await judgeRedTeamKernel(session.evaluator, name);
    const { status, reason, failedCheck } = evaluation;
    expect(disagreements, JSON.stringify({ status, reason, failedCheck })).toEqual([]);
  });
});

describe.skipIf(!hasGpu)(`honest kernels on ${GPU} (skipped without an NVIDIA GPU)`, () => {
  const evaluations = Array.from({ length: HONEST_EVALUATIONS }, (_, i) => ({
    ...HONEST_CANDIDATES[i % HONEST_CANDIDATES.length]!,
    seed: 1 + i,
  }));

  it.each(evaluations)('$title, seed $seed, raises no alarm', async ({ seed, ...candidate }) => {
    const request = await requestFor(candidate, { workload: HONEST_WORKLOAD, seed });
    const { status, reason, failedCheck } = await session.evaluator.evaluate(request);
    expect({ status, reason, failedCheck }).toEqual({ status: 'passed' });
  });
});
