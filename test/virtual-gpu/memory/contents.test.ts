import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { launchCode, words } from '../../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../../support/launch/ptx-text.ts';

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});

afterAll(() => device.close());

const START = 'mov.u32 %r0, %tid.x; mul.wide.u32 %d0, %r0, 4; add.u64 %d1, %out, %d0;';

describe('uninitialised memory', () => {
  const body = `${START} .local .align 4 .b8 own[16]; mov.u32 %r2, words; mul.lo.u32 %r3, %r0, 4; add.u32 %r2, %r2, %r3;
    ld.shared.u32 %r4, [%r2]; ld.local.u32 %r5, [own+4]; xor.b32 %r6, %r4, %r5;
    st.global.u32 [%d1], %r4; st.global.u32 [%d1+128], %r6;
    st.shared.u32 [%r2], 0; st.local.u32 [own+4], 0;`;
  const text = moduleText('.shared .align 4 .b8 words[128];', entry({ parameters: ['u64 out'], body }));

  it('is NaN in the natural order and other rubbish in any other: never what a CTA before left there', async () => {
    const found = async (options: object): Promise<Uint32Array> => {
      const launch = { grid: 'privateMemory' in options ? 1 : 3, arguments: ['out'], buffers: { out: 256 }, options };
      return words((await launchCode(device, text, launch)).contents.out!);
    };
    expect(new Set(await found({ orderSeed: 0 }))).toEqual(new Set([0xffffffff, 0]));
    const [one, other] = [await found({ orderSeed: 1 }), await found({ orderSeed: 77 })];
    expect(await found({ orderSeed: 1 })).toEqual(one);
    expect(await found({ privateMemory: 77 })).not.toContain(one[0]);
    expect(new Set([...one, ...other]).size).toBeGreaterThan(6);
    expect(new Set(await found({ privateMemory: 'zeros' }))).toEqual(new Set([0]));
  });

  it('registers start as zero', async () => {
    const { contents } = await launchCode(
      device,
      moduleText(entry({ parameters: ['u64 out'], body: `${START} st.global.u32 [%d1], %r17;` })),
      { arguments: ['out'], buffers: { out: new Uint8Array(128).fill(9) } },
    );
    expect(new Set(words(contents.out!))).toEqual(new Set([0]));
  });
});

describe('generic addresses that point to different spaces in different lanes', () => {
  it('store to and load from each', async () => {
    // By lane modulo 4: device, shared, local and constant memory; all hold 100 + lane, or the table's entry.
    const body = `${START} .local .align 4 .b8 own[16];
      and.b32 %r1, %r0, 3; add.u32 %r2, %r0, 100;
      mov.u64 %d2, words; cvta.shared.u64 %d2, %d2; add.u64 %d2, %d2, %d0;
      mov.u64 %d3, own; cvta.local.u64 %d3, %d3;
      mov.u64 %d4, table; cvta.const.u64 %d4, %d4; add.u64 %d4, %d4, %d0;
      setp.eq.u32 %p0, %r1, 1; setp.eq.u32 %p1, %r1, 2; setp.eq.u32 %p2, %r1, 3;
      mov.u64 %d5, %d1; selp.b64 %d5, %d2, %d5, %p0; selp.b64 %d5, %d3, %d5, %p1;
      @!%p2 st.u32 [%d5], %r2; selp.b64 %d5, %d4, %d5, %p2;
      ld.u32 %r3, [%d5]; st.global.u32 [%d1+128], %r3;`;
    const table = Array.from({ length: 32 }, (_, i) => 1000 + i);
    const text = moduleText(
      '.shared .align 4 .b8 words[128];',
      `.const .align 4 .u32 table[32] = {${table.join(', ')}};`,
      entry({ parameters: ['u64 out'], body }),
    );
    const { contents } = await launchCode(device, text, { arguments: ['out'], buffers: { out: 256 } });
    const got = [...words(contents.out!)];
    expect(got.slice(32)).toEqual(table.map((entryOf, lane) => (lane % 4 === 3 ? entryOf : 100 + lane)));
    expect(got.slice(0, 32)).toEqual(table.map((_, lane) => (lane % 4 === 0 ? 100 + lane : 0)));
  });

  it('tell which space they are in', async () => {
    const body = `${START} mov.u64 %d2, words; cvta.shared.u64 %d2, %d2;
      isspacep.shared %p0, %d2; isspacep.global %p1, %d2; isspacep.global %p2, %out;
      selp.u32 %r1, 1, 0, %p0; selp.u32 %r2, 2, 0, %p1; selp.u32 %r3, 4, 0, %p2;
      add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; st.global.u32 [%d1], %r1;`;
    const text = moduleText('.shared .align 4 .b8 words[128];', entry({ parameters: ['u64 out'], body }));
    const { contents } = await launchCode(device, text, { arguments: ['out'], buffers: { out: 128 } });
    expect(new Set(words(contents.out!))).toEqual(new Set([5]));
  });
});

describe('atomics', () => {
  it('lanes take their turns: every one sees another old value', async () => {
    const body = `${START} atom.global.add.u32 %r1, [%total], 3; st.global.u32 [%d1], %r1;`;
    const text = moduleText(entry({ parameters: ['u64 total', 'u64 out'], body }));
    const { contents } = await launchCode(device, text, {
      arguments: ['total', 'out'],
      buffers: { total: 4, out: 128 },
    });
    expect([...words(contents.total!)]).toEqual([96]);
    expect([...words(contents.out!)].sort((a, b) => a - b)).toEqual(Array.from({ length: 32 }, (_, i) => 3 * i));
  });

  it.each([
    ['min.s32', -5, -7, -7],
    ['max.u32', 5, 0xffffffff, 0xffffffff],
    ['and.b32', 0b1100, 0b1010, 0b1000],
    ['or.b32', 0b1100, 0b1010, 0b1110],
    ['exch.b32', 1, 2, 2],
    ['inc.u32', 5, 5, 0],
    ['dec.u32', 0, 9, 9],
    ['add.u32', 0xffffffff, 2, 1],
  ])('%s', async (operation, before, operand, after) => {
    const body = `atom.global.${operation} %r1, [%total], ${operand}; st.global.u32 [%total+4], %r1;`;
    const { contents } = await launchCode(device, moduleText(entry({ parameters: ['u64 total'], body })), {
      block: 1,
      arguments: ['total'],
      buffers: { total: Int32Array.of(before, 0) },
    });
    expect([...words(contents.total!)]).toEqual([after >>> 0, before >>> 0]);
  });

  it('compare and swap, 64 bits', async () => {
    const body = `mov.u32 %r0, %tid.x; cvt.u64.u32 %d0, %r0; add.u64 %d1, %d0, 1;
      atom.global.cas.b64 %d2, [%total], %d0, %d1;`;
    const { contents } = await launchCode(device, moduleText(entry({ parameters: ['u64 total'], body })), {
      arguments: ['total'],
      buffers: { total: 8 },
    });
    // Lane i swaps i for i + 1: in lane order all succeed.
    expect([...new BigUint64Array(contents.total!.buffer)]).toEqual([32n]);
  });
});
