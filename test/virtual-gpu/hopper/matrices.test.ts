import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { type HopperKernel, outputOf, POINTER, refusalOf, storeShared } from './ptx.ts';

let device: Device;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
});
afterAll(() => device.close());

/** Lane l holds elements 2l and 2l + 1 of an 8×8 matrix of 0, 1, 2, …; `%r1`. `body` makes 128 bytes of shared memory of it. */
const kernel = (body: string, threads = 32): HopperKernel => ({
  parameters: [POINTER('out')],
  threads,
  body: `
  mov.u32 %r0, %laneid;
  shl.b32 %r1, %r0, 1;
  add.u32 %r2, %r1, 1;
  shl.b32 %r2, %r2, 16;
  or.b32 %r1, %r1, %r2;
  mov.u32 %r10, smem;
  and.b32 %r3, %r0, 7;
  shl.b32 %r4, %r3, 4;
  add.u32 %r4, %r4, %r10;
  ${body}
  bar.sync 0;
  ${storeShared(128, 0, threads)}`,
});

async function stored(body: string): Promise<number[]> {
  const contents = await outputOf(device, kernel(body), { arguments: ['out'], buffers: { out: 128 } });
  return [...new Uint16Array(contents.buffer, contents.byteOffset, 64)];
}

const rows = Array.from({ length: 64 }, (_, i) => i);
const columns = rows.map((i) => (i % 8) * 8 + Math.floor(i / 8));

describe('matrices of 8 × 8 halves', () => {
  it('stmatrix stores the rows that lanes hold in pairs, or the columns', async () => {
    expect(await stored('stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r1};')).toEqual(rows);
    expect(await stored('stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r4], {%r1};')).toEqual(columns);
  });

  it('stmatrix takes the rows of matrix i from lanes 8 i on', async () => {
    // The second matrix, at rows of lanes 8 to 15, overwrites the first: all lanes name the same eight rows.
    const twice = 'not.b32 %r5, %r1; stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r4], {%r5, %r1};';
    expect(await stored(twice)).toEqual(rows);
  });

  it('movmatrix transposes', async () => {
    const body =
      'movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r1; shl.b32 %r6, %r0, 2; add.u32 %r6, %r6, %r10; st.shared.b32 [%r6], %r5;';
    expect(await stored(body)).toEqual(columns);
  });

  it('stmatrix races like any store', async () => {
    // Two warps store other rows to one place.
    const body = 'mov.u32 %r7, %tid.x; add.u32 %r1, %r1, %r7; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r1};';
    const launch = { arguments: ['out'], buffers: { out: 128 }, options: { findRaces: true } };
    expect(await refusalOf(device, kernel(body, 64), launch)).toMatch(
      /^unsafe: .*race: a shared write of 16 bytes and a write of thread/,
    );
    expect(await refusalOf(device, kernel(body, 32), launch)).toBe('passed');
  });
});
