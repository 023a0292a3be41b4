import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Device } from '../../src/core/device.ts';
import type { Evaluation, Evaluator } from '../../src/core/evaluation.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { EVALUATION_STATUSES, type EvaluationStatus } from '../../src/core/status.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createLiveEvaluator } from '../../src/evaluation/live-evaluator.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';

const RED_TEAM = import.meta.dirname;
const ATTENTION = path.resolve(RED_TEAM, '../../problems/attention');
const WORKLOAD = 'B=1,H=2,S=64,D=64,causal=0';

/** expected.json: what the referee must say of the kernel beside it. */
interface Expected {
  status: EvaluationStatus;
  /** Regular expression over the evaluation's reason. */
  reasonMatches: string;
}

const foldersIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** What the issue demands, whatever else lies in this folder. */
const REQUIRED = [
  'zeros',
  'constant',
  'mean-of-values',
  'first-tile-only',
  'last-tile-dropped',
  'mask-ignored',
  'mask-off-by-one',
  'half-accumulation',
  'missing-rescale',
  'modified-inputs',
  'out-of-bounds-write',
  'uninitialised-workspace',
  'first-cta-prepares',
];

let device: Device;
let evaluator: Evaluator;

beforeAll(async () => {
  device = await openDevice('virtual:l4');
  const toolchain = await createClangToolchain();
  // An endless loop is found as surely after ten million instructions as after the default's thousands of millions.
  evaluator = createLiveEvaluator({ device, toolchain, instructionsPerCta: 10_000_000 });
});

afterAll(async () => {
  await evaluator?.close();
  await device?.close();
});

const judge = async (folder: string, seed: number): Promise<Evaluation> => {
  const { kernel, problem } = await loadKernel(folder);
  const workload = resolveWorkload(problem.file, WORKLOAD);
  return evaluator.evaluate({ problem, candidate: makeCandidate(kernel, {}), workload, seed });
};

describe('the red team', () => {
  const kernels = foldersIn(RED_TEAM);

  it('has every kernel that the referee must be tested with', () => {
    expect(kernels).toEqual(expect.arrayContaining(REQUIRED));
  });

  it.each(kernels)('%s is refused with the right status and reason', async (name) => {
    const folder = path.join(RED_TEAM, name);
    const expected = JSON.parse(readFileSync(path.join(folder, 'expected.json'), 'utf8')) as Expected;
    expect(EVALUATION_STATUSES.filter((status) => status !== 'passed')).toContain(expected.status);
    const { status, reason, failedCheck } = await judge(folder, 1);
    expect({ status, reason, failedCheck }).toEqual({
      status: expected.status,
      reason: expect.stringMatching(new RegExp(expected.reasonMatches)),
      failedCheck: expect.stringContaining(' inputs'),
    });
  });
});

describe('an honest rung', () => {
  const { rungs } = JSON.parse(readFileSync(path.join(ATTENTION, 'problem.json'), 'utf8')) as { rungs: string[] };

  it.each(rungs)('%s raises no alarm, whatever the seed', async (rung) => {
    for (const seed of [1, 2, 3]) {
      const { status, reason, failedCheck, correctness } = await judge(path.join(ATTENTION, rung), seed);
      expect({ status, reason, failedCheck }, `seed ${seed}`).toEqual({ status: 'passed' });
      // Not only within the limits: honest fp32 accumulation stays below half of them.
      expect(correctness?.worstErrorRatio, `seed ${seed}`).toBeLessThan(0.5);
      expect(correctness?.rmsErrorRatio, `seed ${seed}`).toBeLessThan(0.5);
    }
  });
});
