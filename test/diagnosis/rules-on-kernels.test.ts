import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampled } from '../support/sampling/matrix.ts';
import { type KernelBench, openKernelBench } from './support/diagnose-kernel.ts';
import { KERNEL_CASES } from './support/kernel-cases.ts';

describe('each rule, on a kernel that has the defect and one that has not', () => {
  let bench: KernelBench;
  beforeAll(async () => {
    bench = await openKernelBench();
  });
  afterAll(() => bench.close());

  sampled('rules on kernels', KERNEL_CASES, { oneIn: 8 })('$id', async ({ id, shared, defect, healthy, line }) => {
    const sick = await bench.diagnose({ ...shared, ...defect });
    const finding = sick.findings.find((candidate) => candidate.id === id);
    expect(finding, `of ${JSON.stringify(sick.findings.map((candidate) => candidate.id))}`).toBeDefined();
    expect(finding!.estimatedSpeedup).toBeGreaterThan(1);
    if (line) expect(finding!.evidence.map((item) => item.where).join()).toContain(line);
    const well = await bench.diagnose({ ...shared, ...healthy });
    expect(well.findings.map((candidate) => candidate.id)).not.toContain(id);
  });

  it('sees the tensor FLOP of the kernel that uses them: 464 warps, 40 steps, 4096 FLOP each', async () => {
    const { shared, healthy } = KERNEL_CASES.find(({ id }) => id === 'tensor-cores-unused')!;
    const { counters } = await bench.diagnose({ ...shared, ...healthy });
    expect(counters.flop.tensor).toBe(116 * 4 * 40 * 4096);
  });

  it('names the defect before all other defects: one thread walking while 127 wait', async () => {
    const { findings } = await bench.diagnose({
      ...KERNEL_CASES.find(({ id }) => id === 'serial-sections')!.shared,
      functionName: 'one_thread',
      grid: 58,
    });
    // That latency binds is no defect of its own.
    expect(findings.find(({ id }) => id !== 'latency-bound')!.id).toBe('serial-sections');
  });
});
