import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { openSession, type Session } from '../../src/app/session.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { ParameterValues } from '../../src/core/kernel.ts';
import { completeParameters } from '../../src/core/plan/parameters.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { listDevices } from '../../src/devices/open-device.ts';
import { expectedOf, RED_TEAM, redTeamKernels, type Stage } from './expected.ts';
import { HONEST_CANDIDATES } from './honest.ts';

const GPU = 'cuda:0';
const hasGpu = listDevices().some(({ id }) => id === GPU);

/** `WARPSMITH_HONEST_EVALUATIONS=200` is the whole claim; a few show that nothing is broken. */
const HONEST_EVALUATIONS = Number(process.env.WARPSMITH_HONEST_EVALUATIONS ?? HONEST_CANDIDATES.length);
const HONEST_WORKLOAD = 'b1h8s512d64';

let session: Session;

beforeAll(async () => {
  if (hasGpu) session = await openSession({ device: GPU, runTimeoutSeconds: 10 });
});

afterAll(async () => {
  await session?.[Symbol.asyncDispose]();
});

const judge = async (
  folder: string,
  options: { workload: string; seed: number; sanitize?: boolean; parameters?: ParameterValues },
): Promise<Evaluation> => {
  const { workload, seed, sanitize = false, parameters = {} } = options;
  const { kernel, problem } = await loadKernel(folder);
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, parameters));
  return session.evaluator.evaluate({
    problem,
    candidate,
    workload: resolveWorkload(problem.file, workload),
    seed,
    sanitize,
  });
};

/** The stage that saw through the kernel, if one did. */
const stageOf = ({ status, elapsedMs, sanitizer }: Evaluation): Stage | undefined => {
  if (status === 'passed') return sanitizer?.outcome === 'errors' ? 'sanitizer' : undefined;
  return elapsedMs.time > 0 ? 'measurement' : 'verification';
};

describe.skipIf(!hasGpu)(`the red team on ${GPU} (skipped without an NVIDIA GPU)`, () => {
  it.each(redTeamKernels())(
    '%s is seen through',
    async (name) => {
      const { statuses, reason, caughtBy, workload } = expectedOf(name, 'cuda');
      const sanitize = caughtBy.includes('sanitizer');
      const evaluation = await judge(path.join(RED_TEAM, name), { workload, seed: 1, sanitize });
      const said = JSON.stringify({ status: evaluation.status, reason: evaluation.reason, on: evaluation.failedCheck });
      expect(statuses, said).toContain(evaluation.status);
      expect(caughtBy, said).toContain(stageOf(evaluation));
      if (evaluation.status !== 'passed') expect(evaluation.reason).toMatch(reason);
    },
    300_000,
  );
});

describe.skipIf(!hasGpu)(`honest kernels on ${GPU} (skipped without an NVIDIA GPU)`, () => {
  const evaluations = Array.from({ length: HONEST_EVALUATIONS }, (_, i) => ({
    ...HONEST_CANDIDATES[i % HONEST_CANDIDATES.length]!,
    seed: 1 + i,
  }));

  it.each(evaluations)(
    '$title, seed $seed, raises no alarm',
    async ({ folder, parameters, seed }) => {
      const { status, reason, failedCheck } = await judge(folder, { workload: HONEST_WORKLOAD, seed, parameters });
      expect({ status, reason, failedCheck }).toEqual({ status: 'passed' });
    },
    120_000,
  );
});
