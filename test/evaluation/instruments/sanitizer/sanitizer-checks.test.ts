import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../../../src/core/candidate.ts';
import type { KernelFile } from '../../../../src/core/kernel.ts';
import { completeParameters } from '../../../../src/core/plan/parameters.ts';
import { resolveWorkload } from '../../../../src/core/plan/resolve-workload.ts';
import { sanitizerBursts, sanitizerChecks } from '../../../../src/evaluation/instruments/sanitizer/sanitizer-checks.ts';
import { planLaunches } from '../../../../src/evaluation/launches/plan-launches.ts';
import { DEVICE_SPECS } from '../../../../src/hardware/device-specs.ts';

const folder = new URL('../../../../problems/attention/04_warp', import.meta.url).pathname;
const { kernel, problem } = await loadKernel(folder);
const spec = DEVICE_SPECS.get('h200')!;

const checksOf = (changes: Partial<KernelFile> = {}) => {
  const changed = { ...kernel, file: { ...kernel.file, ...changes } };
  const candidate = makeCandidate(changed, completeParameters(changed.file, {}));
  const { dimensions } = resolveWorkload(problem.file, 'b1h8s512d64');
  return sanitizerChecks({
    problem,
    candidate,
    dimensions,
    seed: 1,
    spec,
    planFor: (shape) => planLaunches({ problem, candidate, dimensions: shape, spec }),
  });
};
const bytesOf = (check: ReturnType<typeof checksOf>[number]): number =>
  check.plan.buffers.reduce((sum, { bytes }) => sum + bytes, 0);

describe('sanitizerChecks', () => {
  it('takes a few of the smallest check shapes, each once, with their inputs', () => {
    const checks = checksOf();
    expect(checks.length).toBeGreaterThan(1);
    expect(checks.length).toBeLessThanOrEqual(4);
    expect(checks.map(bytesOf)).toEqual(checks.map(bytesOf).toSorted((a, b) => a - b));
    expect(new Set(checks.map(({ name }) => name.split(' · ')[0])).size).toBe(checks.length);
    for (const { plan, contents } of checks) {
      const inputs = plan.buffers.filter(({ role }) => role === 'in');
      expect(inputs.map(({ name, bytes }) => contents.get(name)?.length === bytes)).toEqual(inputs.map(() => true));
    }
    expect(checks.some(({ name }) => name.includes('S=512'))).toBe(false);
  });

  it('takes drawn shapes where a kernel takes no check shape, and else the workload', () => {
    const drawn = checksOf({ limits: ['S == 512'] });
    expect(drawn.length).toBeGreaterThan(1);
    expect(drawn.every(({ name }) => name.includes('S=512'))).toBe(true);
    const only = checksOf({
      limits: ['S == 512 && B == 1 && H == 8 && D == 64 && !causal && Hkv == H && Skv == S && !bshd && !lse'],
    });
    expect(only).toHaveLength(1);
    expect(only[0]!.name).toContain('S=512');
  });
});

describe('sanitizerBursts', () => {
  const burstOf = (share: number, sequenceNs = 20_000, workload = 'b1h8s512d64') => {
    const candidate = makeCandidate(kernel, completeParameters(kernel.file, {}));
    const { dimensions } = resolveWorkload(problem.file, workload);
    const plan = planLaunches({ problem, candidate, dimensions, spec });
    const { many, few } = sanitizerBursts({ problem, plan, dimensions, seed: 1, sequenceNs, share });
    return { plan, burst: many, few };
  };
  const sequencesOf = (...request: Parameters<typeof burstOf>): number => {
    const { plan, burst } = burstOf(...request);
    return burst.plan.steps.length / plan.steps.length;
  };

  it('runs the workload as it is timed, a secret number of times, each in buffers of its own', () => {
    expect([sequencesOf(0), sequencesOf(0.999)]).toEqual([24, 64]);
    const { plan, burst } = burstOf(0);
    expect(burst.name).toBe('the workload, 24 launch sequences in a row');
    expect(new Set(burst.plan.buffers.map(({ name }) => name)).size).toBe(24 * plan.buffers.length);
    for (const { name, role, bytes } of burst.plan.buffers)
      expect(burst.contents.get(name)?.length, name).toBe(role === 'in' ? bytes : undefined);
  });

  it('is short for racecheck, which looks at each launch alone', () => {
    expect(burstOf(0).few.name).toBe('the workload, 2 launch sequences in a row');
    expect(burstOf(0.5, 30e6).few.name).toBe('the workload, one launch sequence');
  });

  it('is short where sequences are long or large', () => {
    expect(sequencesOf(0.5, 30e6)).toBe(1);
    expect(sequencesOf(0.5, 5e6)).toBe(4);
    expect(sequencesOf(0.999, 20_000, 'b32h8s128d64')).toBe(32);
  });
});
