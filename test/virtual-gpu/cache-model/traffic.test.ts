import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type KernelBench, type KernelRun, openKernelBench } from '../../diagnosis/support/diagnose-kernel.ts';
import { longTests } from '../../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 4 });

const MIB = 2 ** 20;
/** `passes` over `mebibytes` by 54 CTAs of 1024 threads, on an L4 with 48 MiB of L2. */
const passes = (mebibytes: number, count: number, cache: 'hot' | 'cold'): KernelRun => ({
  file: 'cache_reuse.cu',
  functionName: 'pass_after_pass',
  grid: 54,
  block: 1024,
  cache,
  arguments: [{ bytes: mebibytes * MIB }, { bytes: 54 * 4096 }, { i32: mebibytes * 2 ** 16 }, { i32: count }],
});

describe('traffic beyond L2, on kernels whose traffic is known', () => {
  let bench: KernelBench;
  beforeAll(async () => {
    bench = await openKernelBench();
  });
  afterAll(() => bench.close());

  const traffic = async (run: KernelRun) => (await bench.diagnose(run)).counters.sampledCache!;

  long('is what must be read once, where it fits: exactly, cold; nothing, hot', async () => {
    const cold = await traffic(passes(27, 2, 'cold'));
    expect(cold).toMatchObject({ start: 'cold', dramReadBytes: 27 * MIB, dramWriteBytes: 54 * 4096 });
    expect(cold.sampledRatio).toBeLessThan(0.05);
    const hot = await traffic(passes(27, 2, 'hot'));
    expect(hot).toMatchObject({ start: 'hot', dramWriteBytes: 0 });
    // Lines are not spread evenly over sets: a few sets hold more than their ways.
    expect(hot.dramReadBytes).toBeLessThan(0.05 * 27 * MIB);
  });

  long('tells L1 how much the CTAs of an SM read: a part each, the same in both passes', async () => {
    const { counters } = await bench.diagnose(passes(27, 2, 'cold'));
    const { sectorsReadBySms } = counters.sampledCache!;
    // Each CTA reads a part of its own; a second pass adds nothing.
    expect(sectorsReadBySms).toBe(counters.distinctSectorsRead);
    expect(counters.globalLoadSectors).toBe(2 * counters.distinctSectorsRead);
  });

  long('is most of every pass, where it does not fit', async () => {
    const { dramReadBytes } = await traffic(passes(108, 2, 'cold'));
    expect(dramReadBytes).toBeGreaterThan(1.9 * 108 * MIB);
    expect(dramReadBytes).toBeLessThanOrEqual(2 * 108 * MIB);
  });

  long('is the same again', async () => {
    expect(await traffic(passes(54, 2, 'cold'))).toEqual(await traffic(passes(54, 2, 'cold')));
  });
});
