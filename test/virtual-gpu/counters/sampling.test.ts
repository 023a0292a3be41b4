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
    // Equal CTAs: the estimate is exact. 120 CTAs × 4 sectors. What a cache sees of part of the CTAs says nothing.
    const { sampledCache, ...others } = all;
    expect(sampledCache).toBeDefined();
    expect(sampled).toEqual({ ...others, countedCtas: 12 });
    expect(sampled.globalLoadSectors).toBe(480);
  });

  it('spreads the sample over the grid, so that work growing with the CTA averages out', async () => {
    const growing = `mov.u32 %r9, %ctaid.x; LOOP: sub.u32 %r9, %r9, 1; setp.gt.s32 %p0, %r9, 0; @%p0 bra LOOP; ${COPY}`;
    const [all, sampled] = [await run(growing), await run(growing, 10)];
    expect(sampled.countedCtas).toBe(10);
    expect(Math.abs(sampled.instructions - all.instructions)).toBeLessThan(0.02 * all.instructions);
  });

  it('is not done where CTAs may talk to each other', async () => {
    const counters = await run(`${COPY} atom.global.add.u32 %r4, [%out], 1;`, 12);
    expect(counters.countedCtas).toBe(120);
  });
});
