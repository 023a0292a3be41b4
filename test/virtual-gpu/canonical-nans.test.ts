import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { launchCode, words } from '../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../support/launch/ptx-text.ts';

let device: Device;
beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});
afterAll(() => device.close());

const LOADED = 0xffc12345;

/** What a thread adds up to: `in` holds infinity and a NaN with bits of its own. */
async function resultOf(body: string): Promise<number> {
  const loads = 'ld.global.b32 %r1, [%in]; ld.global.b32 %r2, [%in+4];';
  const text = moduleText(
    entry({ parameters: ['u64 in', 'u64 out'], body: `${loads} ${body} st.global.b32 [%out], %r8;` }),
  );
  const buffers = { in: new Uint32Array([0x7f800000, LOADED]), out: 4 };
  const { contents } = await launchCode(device, text, { arguments: ['in', 'out'], buffers });
  return words(contents.out!)[0]!;
}

describe('bits of an f32 NaN', () => {
  it.each([
    ['a difference of infinities', 'sub.f32 %r3, %r1, %r1; add.s32 %r8, %r3, 1;'],
    ['a product', 'mul.f32 %r3, %r1, 0f00000000; add.s32 %r8, 1, %r3;'],
    ['a sum with a NaN that has bits of its own', 'add.f32 %r3, %r2, %r1; add.s32 %r8, %r3, 1;'],
    ['a copy of it', 'sub.f32 %r3, %r1, %r1; mov.b32 %r4, %r3; add.s32 %r8, %r4, 1;'],
    [
      'one of two results, whichever',
      'sub.f32 %r3, %r1, %r1; mul.f32 %r4, %r1, %r1; setp.nan.f32 %p1, %r3, %r3; selp.b32 %r5, %r3, %r4, %p1; add.s32 %r8, %r5, 1;',
    ],
  ])('are the GPU’s where code looks at them: %s', async (_, body) => {
    expect(await resultOf(body)).toBe(0x80000000);
  });

  it('are its own where it was loaded, or may have been', async () => {
    expect(await resultOf('add.s32 %r8, %r2, 1;')).toBe(LOADED + 1);
    const either =
      'sub.f32 %r3, %r1, %r1; setp.nan.f32 %p1, %r3, %r3; selp.b32 %r4, %r2, %r3, %p1; add.s32 %r8, %r4, 1;';
    expect(await resultOf(either)).toBe(LOADED + 1);
  });

  it('are not taken for those of whole numbers', async () => {
    expect(await resultOf('mov.b32 %r3, -1; sub.f32 %r4, %r1, %r1; add.s32 %r8, %r3, 1;')).toBe(0);
    expect(await resultOf('mov.b32 %r3, -1; mov.b32 %r4, %r3; and.b32 %r8, %r4, -2;')).toBe(0xfffffffe);
  });

  it('cost nothing where nobody looks: a number is a number', async () => {
    expect(await resultOf('mul.f32 %r3, %r1, 0fBF800000; add.s32 %r8, %r3, 1;')).toBe(0xff800001);
  });
});
