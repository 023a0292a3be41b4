import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LaunchCounters } from '../../../src/core/counters.ts';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { type KernelLaunch, launchCode } from '../../support/launch/launch-kernel.ts';
import { type EntryText, entry, moduleText } from '../../support/launch/ptx-text.ts';

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});

afterAll(() => device.close());

/** Counters of hand-written PTX; `entry` adds one `ld.param` per parameter and the `ret`. */
async function count(text: EntryText, launch: KernelLaunch = {}): Promise<LaunchCounters> {
  const launched = await launchCode(device, moduleText(entry(text)), { ...launch, options: { count: true } });
  return launched.counters;
}

/** Histogram of active lanes, zeros left out: `{ lanes: instructions }`. */
const lanesOf = (c: LaunchCounters): Record<number, number> =>
  Object.fromEntries(c.activeLaneHistogram.map((value, lanes) => [lanes, value]).filter(([, value]) => value !== 0));

const OUT = { parameters: ['u64 out'] } as const;
const OUT_LAUNCH = { arguments: ['out'], buffers: { out: 4096 } } as const;
/** Three instructions: out[tid] = %r1, with tid in %r0. */
const STORE = 'mul.wide.u32 %d0, %r0, 4; add.u64 %d1, %out, %d0; st.global.u32 [%d1], %r1;';

describe('instructions and active lanes', () => {
  it('two-way divergence: each side runs once with its lanes, the rest with all', async () => {
    const c = await count(
      {
        ...OUT,
        body: `mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 12; @%p0 bra THEN;
               mov.u32 %r1, 2; bra JOIN;
               THEN: mov.u32 %r1, 1;
               JOIN: ${STORE}`,
      },
      OUT_LAUNCH,
    );
    // All lanes: ld.param, mov, setp, bra, then mul, add, st, ret = 8. Else: mov, bra with 20. Then: mov with 12.
    expect(c.instructions).toBe(8 + 2 + 1);
    expect(lanesOf(c)).toEqual({ 32: 8, 20: 2, 12: 1 });
    expect(c.threadInstructions).toBe(8 * 32 + 2 * 20 + 12);
    expect([c.branches, c.divergentBranches]).toEqual([1, 1]);
    expect(c.instructionsByClass).toMatchObject({ 'constant-load': 1, predicate: 1, control: 3, 'global-store': 1 });
  });

  it('a loop that lane t runs t + 1 times: iteration k has 33 − k lanes', async () => {
    const c = await count(
      {
        ...OUT,
        body: `mov.u32 %r0, %tid.x; mov.u32 %r1, 0;
               LOOP: add.u32 %r1, %r1, 1; setp.le.u32 %p0, %r1, %r0; @%p0 bra LOOP;
               ${STORE}`,
      },
      OUT_LAUNCH,
    );
    // 32 iterations of 3 instructions; ld.param, 2 mov, mul, add, st, ret with all lanes.
    expect(c.instructions).toBe(7 + 3 * 32);
    const wanted: Record<number, number> = {};
    for (let lanes = 1; lanes <= 32; lanes++) wanted[lanes] = 3;
    wanted[32] = 3 + 7;
    expect(lanesOf(c)).toEqual(wanted);
    // Lanes part at every iteration but the last, which has one lane.
    expect([c.branches, c.divergentBranches]).toEqual([32, 31]);
    // Back together, all 32 lanes store at once: 128 B.
    expect([c.globalStoreRequests, c.globalStoreSectors]).toEqual([1, 4]);
  });

  it('a branch all lanes take alike is no divergence, though its predicate differs from warp to warp', async () => {
    const c = await count(
      {
        body: `mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; @%p0 bra END; mov.u32 %r1, 1; END:`,
      },
      { block: 96 },
    );
    // 3 warps × (mov, setp, bra, ret); warps 1 and 2 also the mov.
    expect(c.instructions).toBe(3 * 4 + 2);
    expect([c.branches, c.divergentBranches]).toEqual([3, 0]);
    expect(lanesOf(c)).toEqual({ 32: 14 });
  });

  it('lanes that leave early: a guarded ret is no branch, and the others go on without them', async () => {
    const c = await count({ body: `mov.u32 %r0, %tid.x; setp.ge.u32 %p0, %r0, 5; @%p0 ret; mov.u32 %r1, 1;` });
    // mov, setp, ret with 32 lanes; mov, ret with 5.
    expect(lanesOf(c)).toEqual({ 32: 3, 5: 2 });
    expect([c.branches, c.divergentBranches]).toEqual([0, 0]);
  });

  it('work by class and flop per lane; a fused multiply-add is two', async () => {
    const c = await count(
      {
        ...OUT,
        body: `mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f0, %r0;
               add.f32 %f1, %f0, %f0; mul.f32 %f1, %f1, %f0; fma.rn.f32 %f1, %f1, %f0, %f0; ex2.approx.f32 %f1, %f1;
               mov.b32 %r1, %f1; ${STORE}`,
      },
      { ...OUT_LAUNCH, block: 48 },
    );
    // Two warps issue add, mul, fma; 48 threads do 1 + 1 + 2 + 1 (ex2) operations.
    expect(c.instructionsByClass).toMatchObject({ fp32: 6, special: 2, conversion: 2, 'global-store': 2 });
    expect(c.flop).toEqual({ fp16: 0, fp32: 48 * 5, fp64: 0, tensor: 0 });
  });

  it('only CTA barriers count as barriers: fences and warp barriers do not', async () => {
    const c = await count(
      { body: 'bar.sync 0; membar.cta; fence.acq_rel.cta; bar.warp.sync 0xffffffff; barrier.sync 1; ' },
      { block: 64 },
    );
    expect(c.barriers).toBe(2 * 2);
    expect(c.instructionsByClass.barrier).toBe(5 * 2);
  });
});

describe('guards', () => {
  const guarded = (condition: string) =>
    count(
      {
        parameters: ['u64 in'],
        body: `mov.u32 %r0, %tid.x; setp.${condition}; mul.wide.u32 %d0, %r0, 4; add.u64 %d1, %in, %d0;
               mov.f32 %f0, 0f00000000; @%p0 ld.global.f32 %f0, [%d1]; @!%p0 ld.global.f32 %f0, [%d1+128];`,
      },
      { arguments: ['in'], buffers: { in: 256 } },
    );

  it('a load switched off in part asks for the sectors of the other lanes only', async () => {
    const c = await guarded('lt.u32 %p0, %r0, 20');
    // Lanes 0 … 19: 80 B = 3 sectors. Lanes 20 … 31: bytes 208 … 255 = sectors 6 and 7.
    expect([c.globalLoadRequests, c.globalLoadSectors, c.globalLoadBytes]).toEqual([2, 5, 128]);
    expect(c.distinctSectorsRead).toBe(5);
    // Both are issued with all lanes: guards are no divergence.
    expect(lanesOf(c)).toEqual({ 32: 9 });
    expect(c.instructionsByClass['global-load']).toBe(2);
  });

  it('a load switched off in all lanes makes no request', async () => {
    const c = await guarded('lt.u32 %p0, %r0, 99');
    expect([c.globalLoadRequests, c.globalLoadSectors, c.globalLoadBytes]).toEqual([1, 4, 128]);
    expect(c.instructionsByClass['global-load']).toBe(2);
  });
});

describe('balance', () => {
  /** Warp 0 counts to `rounds` (a register or number) before the barrier; the others wait. */
  const unbalanced = (rounds: string) => ({
    ...OUT,
    body: `mov.u32 %r0, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r2, %r2, 10, 10; mov.u32 %r1, 0;
           setp.ge.u32 %p0, %r0, 32; @%p0 bra WAIT;
           LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, ${rounds}; @%p1 bra LOOP;
           WAIT: bar.sync 0; ${STORE}`,
  });

  it('critical path of a CTA in which one warp works', async () => {
    const c = await count(unbalanced('100'), { ...OUT_LAUNCH, block: 128 });
    // All: ld.param, 3 mov/mad, mov, setp, bra = 7, and bar = 8. Warp 0: 300 more. After the barrier: 4.
    expect(c.instructions).toBe(4 * (8 + 4) + 300);
    expect(c.criticalPathInstructions).toBe(8 + 300 + 4);
    expect(c.longestCtaInstructions).toBe(c.instructions);
  });

  it('is averaged over CTAs; the longest CTA is kept', async () => {
    const c = await count(unbalanced('%r2'), { ...OUT_LAUNCH, block: 128, grid: 3 });
    // CTA i: 10 · (i + 1) rounds of 3 instructions: 30, 60, 90.
    expect(c.instructions).toBe(3 * 48 + 30 + 60 + 90);
    expect(c.criticalPathInstructions).toBe(12 + (30 + 60 + 90) / 3);
    expect(c.longestCtaInstructions).toBe(48 + 90);
    expect([c.ctaCount, c.countedCtas]).toEqual([3, 3]);
  });
});

describe('distinct sectors', () => {
  const twoBuffers = { parameters: ['u64 in', 'u64 out'] } as const;
  const launch = { arguments: ['in', 'out'], buffers: { in: 16384, out: 16384 } } as const;
  const ADDRESSES = 'mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4; add.u64 %d1, %in, %d0; add.u64 %d2, %out, %d0;';

  it('leaves out what lies between two accesses through one register', async () => {
    const c = await count(
      { ...twoBuffers, body: `${ADDRESSES} ld.global.f32 %f0, [%d1]; ld.global.f32 %f1, [%d1+8192];` },
      launch,
    );
    expect([c.globalLoadRequests, c.globalLoadSectors]).toEqual([2, 8]);
    expect([c.distinctSectorsRead, c.distinctSectorsWritten]).toEqual([8, 0]);
  });

  it('tells what is read from what is written through one register', async () => {
    const c = await count(
      { ...twoBuffers, body: `${ADDRESSES} ld.global.f32 %f0, [%d2]; st.global.f32 [%d2+256], %f0;` },
      launch,
    );
    expect([c.distinctSectorsRead, c.distinctSectorsWritten]).toEqual([4, 4]);
  });

  it('counts what two CTAs share once', async () => {
    const c = await count(
      { ...twoBuffers, body: `${ADDRESSES} ld.global.f32 %f0, [%d1]; st.global.f32 [%d2], %f0;` },
      { ...launch, grid: 2 },
    );
    expect([c.globalLoadSectors, c.distinctSectorsRead, c.distinctSectorsWritten]).toEqual([8, 4, 4]);
  });

  it('is the same through one uniform address, in whole and in parted warps', async () => {
    const c = await count(
      {
        ...twoBuffers,
        body: `ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%in+64]; ld.global.f32 %f4, [%in+4096];
               mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 7; @%p0 bra END; ld.global.f32 %f5, [%in+8192]; END:`,
      },
      launch,
    );
    // Three uniform requests, the last by 25 lanes: a sector each.
    expect([c.globalLoadRequests, c.globalLoadSectors, c.globalLoadBytes]).toEqual([3, 3, 32 * 16 + 32 * 4 + 25 * 4]);
    expect(c.distinctSectorsRead).toBe(3);
  });
});

describe('generic addresses', () => {
  const GENERIC = `
    mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4; add.u64 %d1, %in, %d0;
    mov.u64 %d2, words; cvta.shared.u64 %d3, %d2; add.u64 %d3, %d3, %d0;`;
  const variables = '.shared .align 4 .b8 words[256];';
  const launch = { arguments: ['in'], buffers: { in: 256 } } as const;
  const run = async (body: string) => {
    const text = moduleText(variables, entry({ parameters: ['u64 in'], body: GENERIC + body }));
    return (await launchCode(device, text, { ...launch, options: { count: true } })).counters;
  };

  it('count where they point to', async () => {
    const c = await run('ld.f32 %f0, [%d1]; st.f32 [%d3], %f0; ld.f32 %f1, [%d3+4];');
    expect([c.globalLoadRequests, c.globalLoadSectors, c.globalLoadBytes]).toEqual([1, 4, 128]);
    expect([c.sharedStoreRequests, c.sharedStoreWavefronts]).toEqual([1, 1]);
    expect([c.sharedLoadRequests, c.sharedLoadWavefronts]).toEqual([1, 1]);
    expect(c.distinctSectorsRead).toBe(4);
    // The class follows from the instruction, which does not say.
    expect(c.instructionsByClass).toMatchObject({ 'global-load': 2, 'global-store': 1 });
  });

  it('count once per space when lanes point to different ones', async () => {
    const c = await run(`setp.lt.u32 %p0, %r0, 16; selp.b64 %d4, %d1, %d3, %p0; st.f32 [%d4], 0f3F800000;`);
    // Lanes 0 … 15: 64 B of `in`; lanes 16 … 31: 16 words of shared memory.
    expect([c.globalStoreRequests, c.globalStoreSectors, c.globalStoreBytes]).toEqual([1, 2, 64]);
    expect([c.sharedStoreRequests, c.sharedStoreWavefronts]).toEqual([1, 1]);
    expect(c.distinctSectorsWritten).toBe(2);
  });

  it('atomics through them count where they point to', async () => {
    const c = await run('atom.add.u32 %r1, [%d3], 1; red.add.u32 [%d1], 1;');
    expect([c.sharedAtomicRequests, c.globalAtomicRequests]).toEqual([1, 1]);
  });
});
