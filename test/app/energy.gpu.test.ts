import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { compareCandidates } from '../../src/app/compare.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';
import type { MeasuredEnergy } from '../../src/core/energy.ts';
import { listDevices } from '../../src/devices/open-device.ts';

const GPU = 'cuda:0';
const hasGpu = listDevices().some(({ id }) => id === GPU);
const ROW_SUM = fileURLToPath(new URL('../../examples/row-sum', import.meta.url));

describe.skipIf(!hasGpu)(`energy on ${GPU} (skipped without an NVIDIA GPU)`, () => {
  const compare = async (baseline: string, candidate: string): Promise<MeasuredEnergy> => {
    const sides = { baseline: join(ROW_SUM, baseline), candidate: join(ROW_SUM, candidate) };
    const { workloads } = await compareCandidates({ ...sides, device: GPU, energy: true, journal: false, trust: true });
    const { energy } = workloads[0]!;
    if (!energy || 'unavailable' in energy) throw new Error(energy?.unavailable ?? 'no energy');
    return energy;
  };

  it('of a kernel beside itself is equal, above idle, and in windows of a second', async () => {
    const { contenders, comparisons, idleW, blockCount } = await compare('02_warp_per_row', '02_warp_per_row');
    expect(blockCount).toBe(10);
    expect(Math.abs(comparisons[0]!.ratio - 1)).toBeLessThan(0.03);
    expect(['equal', 'ambiguous']).toContain(comparisons[0]!.verdict);
    for (const { watts, windows } of contenders) {
      expect(watts).toBeGreaterThan(idleW!);
      for (const { seconds } of windows) expect(seconds).toBeGreaterThanOrEqual(1);
    }
  });

  it('of a kernel that takes many times as long is more', async () => {
    const { comparisons } = await compare('01_thread_per_row', '02_warp_per_row');
    expect(comparisons[0]).toMatchObject({ verdict: 'less' });
  });

  it('decides in a run that minimises it, and times are told', async () => {
    const store = mkdtempSync(join(tmpdir(), 'warpsmith-energy-'));
    try {
      const { result, view } = await optimizeProblem({
        ...{ target: ROW_SUM, device: GPU, store, trust: true, seed: 1 },
        ...{ minimise: 'energy', strategy: 'exhaustive', maximumEvaluations: 8, ablation: false },
      });
      expect(result.stopReason).not.toBe('device-failed');
      const decided = view.progression.filter(({ decision, iteration }) => decision !== null && iteration > 0);
      expect(decided.length).toBeGreaterThan(0);
      for (const { decision, energy } of decided)
        expect(decision === 'keep').toBe(energy?.compared?.verdict === 'less');
      for (const { outcome, energy } of view.confirmations)
        expect(outcome !== 'refused').toBe(energy?.verdict === 'less');
    } finally {
      rmSync(store, { recursive: true });
    }
  }, 600_000);
});
