import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { launchCode } from '../../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../../support/launch/ptx-text.ts';

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 2 });
});

afterAll(() => device.close());

const COPY = `mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %r0; mul.wide.u32 %d0, %r2, 4;
  add.u64 %d1, %in, %d0; add.u64 %d2, %out, %d0; ld.global.u32 %r3, [%d1]; st.global.u32 [%d2], %r3;`;
const launch = { grid: 120, arguments: ['in', 'out'], buffers: { in: 120 * 128, out: 120 * 128 } };
const run = async (body: string, sampleCtas?: number) => {
  const text = moduleText(entry({ parameters: ['u64 in', 'u64 out'], body }));
  const options = { count: true, ...(sampleCtas === undefined ? {} : { sampleCtas }) };
  return (await launchCode(device, text, { ...launch, options })).counters;
};

describe('sampling of CTAs', () => {
  it('scales the sums of the CTAs it ran to all of them, and says how many it ran', async () => {
    const all = await run(COPY);
    const sampled = await run(COPY, 12);
    expect([all.ctaCount, all.countedCtas]).toEqual([120, 120]);
    // Equal CTAs: the estimate is exact. 120 CTAs × 4 sectors.
    expect(all.sampledCache).toMatchObject({ dramReadBytes: 120 * 128, dramWriteBytes: 120 * 128 });
    const { sampledLines } = sampled.sampledCache!;
    expect(sampled).toEqual({ ...all, countedCtas: 12, sampledCache: { ...all.sampledCache, sampledLines } });
    expect(sampled.globalLoadSectors).toBe(480);
  });

  it('spreads the sample over the grid, so that work growing with the CTA averages out', async () => {
    const growing = `mov.u32 %r9, %ctaid.x; LOOP: sub.u32 %r9, %r9, 1; setp.gt.s32 %p0, %r9, 0; @%p0 bra LOOP; ${COPY}`;
    const [all, sampled] = [await run(growing), await run(growing, 10)];
    expect(sampled.countedCtas).toBe(10);
    expect(Math.abs(sampled.instructions - all.instructions)).toBeLessThan(0.02 * all.instructions);
  });

  it('takes other places than every so many CTAs', async () => {
    // Every twelfth CTA does twelve times as much.
    const odd = `mov.u32 %r9, %ctaid.x; rem.u32 %r9, %r9, 12; setp.ne.u32 %p1, %r9, 6; @%p1 bra DONE; mov.u32 %r9, 100;
      LOOP: sub.u32 %r9, %r9, 1; setp.gt.s32 %p0, %r9, 0; @%p0 bra LOOP; DONE: ${COPY}`;
    const [all, sampled] = [await run(odd), await run(odd, 10)];
    expect(sampled.countedCtas).toBe(10);
    expect(sampled.instructions / all.instructions).toBeLessThan(3);
    expect(sampled.instructions / all.instructions).toBeGreaterThan(1 / 3);
  });

  it('knows that what every CTA reads is there once', async () => {
    // Each reads all of the first CTA's line, and writes its own.
    const shared = COPY.replace('add.u64 %d1, %in, %d0;', 'mul.wide.u32 %d3, %r0, 4; add.u64 %d1, %in, %d3;');
    const [all, sampled] = [await run(shared), await run(shared, 12)];
    expect([all.distinctSectorsRead, all.distinctSectorsWritten]).toEqual([4, 480]);
    // It can't tell a line that all read from ten lines, and knows only that the buffer has no more than 480.
    expect([sampled.distinctSectorsRead, sampled.distinctSectorsWritten]).toEqual([40, 480]);
    const wide = await run(COPY.replaceAll('mad.lo.u32 %r2, %r1, 32, %r0', 'mul.lo.u32 %r2, %r0, 120'), 3);
    expect(wide.distinctSectorsRead).toBe(480);
  });

  it('finds in L2 what a CTA reads again, as the whole does, however small a part of the buffer the sample reads', async () => {
    // 8,192 CTAs of 64 MiB; each reads its 8 KiB twice.
    const twice = `mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r8, 0;
      LOOP: and.b32 %r5, %r8, 15; mad.lo.u32 %r2, %r1, 512, %r0; mad.lo.u32 %r2, %r5, 32, %r2; mul.wide.u32 %d0, %r2, 16;
      add.u64 %d1, %in, %d0; ld.global.v4.u32 {%r3, %r4, %r6, %r7}, [%d1]; add.u32 %r8, %r8, 1; setp.lt.s32 %p0, %r8, 32; @%p0 bra LOOP;`;
    const text = moduleText(entry({ parameters: ['u64 in'], body: twice }));
    const large = { grid: 8192, arguments: ['in'], buffers: { in: 2 ** 26 } };
    const { counters } = await launchCode(device, text, { ...large, options: { count: true, sampleCtas: 8 } });
    expect(counters.globalLoadSectors * 32).toBe(2 ** 27);
    expect(counters.sampledCache!.dramReadBytes).toBe(2 ** 26);
  });

  it('is not done where CTAs may talk to each other', async () => {
    const counters = await run(`${COPY} atom.global.add.u32 %r4, [%out], 1;`, 12);
    expect(counters.countedCtas).toBe(120);
  });
});
