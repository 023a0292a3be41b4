import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { launchCode } from '../../support/launch/launch-kernel.ts';

let device: Device;
beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});
afterAll(() => device.close());

/** Word i of `out` becomes itself plus word i of `in`, by an atomic in this space; `%rd5` and `%rd6` are the places of the thread. */
const adding = (body: string): string => `
.version 8.0
.target sm_89
.address_size 64
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<4>;
  .shared .align 4 .b8 cells[128];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd0;
  cvta.to.global.u64 %rd3, %rd1;
  mul.wide.u32 %rd4, %r0, 4;
  add.u64 %rd5, %rd2, %rd4;
  add.u64 %rd6, %rd3, %rd4;
  ld.global.f32 %f0, [%rd5];
  ${body}
  ret;
}`;

const IN_SHARED = `
  shl.b32 %r1, %r0, 2;
  mov.u32 %r2, cells;
  add.u32 %r2, %r2, %r1;
  ld.global.f32 %f1, [%rd6];
  st.shared.f32 [%r2], %f1;
  red.shared.add.f32 [%r2], %f0;
  ld.shared.f32 %f2, [%r2];
  st.global.f32 [%rd6], %f2;`;

const BODIES = {
  'red.global': 'red.global.add.f32 [%rd6], %f0;',
  'atom.global': 'atom.global.add.f32 %f1, [%rd6], %f0;',
  'a generic red': 'add.u64 %rd7, %rd1, %rd4; red.add.f32 [%rd7], %f0;',
  'red.shared': IN_SHARED,
};

const TINY = 2 ** -130;
const LEAST = 2 ** -126;

async function sums(body: string, before: number[], added: number[]): Promise<number[]> {
  const words = (values: number[]): Float32Array => Float32Array.from({ length: 32 }, (_, i) => values[i] ?? 0);
  const { contents } = await launchCode(device, adding(body), {
    ...{ functionName: 'kernel', arguments: ['in', 'out'] },
    buffers: { in: words(added), out: words(before) },
  });
  return [...new Float32Array(contents.out!.buffer, contents.out!.byteOffset, before.length)];
}

// PTX ISA, `atom`: what additions in device memory take for zero, and those in shared memory don't.
const BEFORE = [0, TINY, LEAST, -0, 1];
const ADDED = [TINY, TINY, -TINY, -TINY, TINY];

it.each(Object.entries(BODIES))('f32 additions by %s', async (name, body) => {
  const kept = [TINY, 2 * TINY, LEAST - TINY, -TINY, 1];
  expect(await sums(body, BEFORE, ADDED)).toEqual(name === 'red.shared' ? kept : [0, 0, LEAST, -0, 1]);
});
