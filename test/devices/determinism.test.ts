import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LaunchCounters } from '../../src/core/counters.ts';
import type { Device } from '../../src/core/device.ts';
import { openDevice, usualThreads } from '../../src/devices/open-device.ts';
import { type KernelLaunch, launchKernel, loadCode } from '../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../support/launch/ptx-text.ts';
import { sampled } from '../support/sampling/matrix.ts';

const THREAD_COUNTS = [1, 2, 8];
let devices: Device[];

beforeAll(async () => {
  devices = await Promise.all(THREAD_COUNTS.map((threads) => openDevice('virtual:l4', { threads })));
});

afterAll(async () => {
  await Promise.all(devices.map((device) => device.close()));
});

interface Result {
  contents: Record<string, string>;
  counters: LaunchCounters;
}

/** Runs a launch several times on each number of threads. All results, the one of a single thread first. */
async function onAllThreads(text: string, launch: KernelLaunch, orderSeed: number, repeats = 2): Promise<Result[]> {
  const results: Result[] = [];
  for (const device of devices) {
    const module = await loadCode(device, text);
    for (let repeat = 0; repeat < repeats; repeat++) {
      // Functional and counted runs are compiled apart: their bits must agree as well.
      await launchKernel(device, module, { ...launch, options: { orderSeed } });
      const { contents, counters } = await launchKernel(device, module, {
        ...launch,
        options: { orderSeed, count: true },
      });
      const hex = Object.entries(contents).map(([name, bytes]) => [name, Buffer.from(bytes).toString('hex')]);
      results.push({ contents: Object.fromEntries(hex), counters });
    }
    await device.unload(module);
  }
  return results;
}

const INDEX = 'mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %r0;';
const wordAt = (address: string, base: string, index: string): string =>
  `mul.wide.u32 ${address}, ${index}, 4; add.u64 ${address}, ${address}, ${base};`;

/** Work of different length per CTA, so that threads finish in an order of their own. */
const BUSY = `and.b32 %r10, %r1, 7; mad.lo.u32 %r10, %r10, 40, 1; mov.u32 %r11, 0;
  BUSY: mad.lo.u32 %r11, %r11, 13, %r3; sub.u32 %r10, %r10, 1; setp.ne.u32 %p9, %r10, 0; @%p9 bra BUSY;`;

const RACES: { name: string; body: string; launch: KernelLaunch }[] = [
  {
    name: 'every CTA stores to the same word',
    body: `${INDEX} ${BUSY} st.global.u32 [%out], %r3; ${wordAt('%d1', '%out', '%r3')} st.global.u32 [%d1+64], %r11;`,
    launch: { grid: 40, block: 32, arguments: ['in', 'out'], buffers: { in: 64, out: 40 * 128 + 64 } },
  },
  {
    name: 'neighbouring CTAs store to overlapping rows',
    body: `${INDEX} ${BUSY} mad.lo.u32 %r4, %r1, 20, %r0; ${wordAt('%d1', '%out', '%r4')} st.global.u32 [%d1], %r3;`,
    launch: { grid: 40, block: 32, arguments: ['in', 'out'], buffers: { in: 64, out: 40 * 80 + 64 } },
  },
  {
    name: 'CTAs add 1 to a word they all read and write',
    body: `${INDEX} ${BUSY} setp.ne.u32 %p0, %r0, 0; @%p0 bra END;
      ld.global.u32 %r4, [%out]; mad.lo.u32 %r4, %r4, 3, %r1; st.global.u32 [%out], %r4; END:`,
    launch: { grid: 33, block: 32, arguments: ['in', 'out'], buffers: { in: 64, out: 4 } },
  },
  {
    name: 'a CTA reads what the one before it wrote',
    body: `${INDEX} ${BUSY} ${wordAt('%d1', '%out', '%r3')} ld.global.u32 %r4, [%d1];
      mad.lo.u32 %r4, %r4, 5, %r3; st.global.u32 [%d1+128], %r4;`,
    launch: { grid: 24, block: 32, arguments: ['in', 'out'], buffers: { in: 64, out: 25 * 128 } },
  },
  {
    name: 'float atomics, whose sum depends on the order',
    body: `${INDEX} ${BUSY} cvt.rn.f32.u32 %f0, %r11; mul.f32 %f0, %f0, 0f3DCCCCCD; atom.global.add.f32 %f1, [%out], %f0;`,
    launch: { grid: 24, block: 64, arguments: ['in', 'out'], buffers: { in: 64, out: 4 } },
  },
  {
    name: 'tickets drawn with an atomic decide what a CTA writes',
    body: `${INDEX} ${BUSY} atom.global.inc.u32 %r4, [%out], 100000; ${wordAt('%d1', '%out', '%r4')}
      st.global.u32 [%d1+4], %r3;`,
    launch: { grid: 24, block: 32, arguments: ['in', 'out'], buffers: { in: 64, out: 24 * 128 + 4 } },
  },
  {
    name: 'the two buffers are one: what is read through one parameter is written through the other',
    body: `${INDEX} ${BUSY} ${wordAt('%d1', '%in', '%r3')} ${wordAt('%d2', '%out', '%r3')}
      ld.global.u32 %r4, [%d1]; add.u32 %r4, %r4, %r3; st.global.u32 [%d2+128], %r4;`,
    launch: { grid: 24, block: 32, arguments: ['out', 'out'], buffers: { out: 25 * 128 } },
  },
  {
    name: 'pointers loaded from memory may point anywhere',
    body: `${INDEX} ${BUSY} ld.global.u64 %d3, [%in]; ld.global.u64 %d4, [%in+8];
      ${wordAt('%d1', '%d3', '%r3')} ${wordAt('%d2', '%d4', '%r3')}
      ld.global.u32 %r4, [%d1]; add.u32 %r4, %r4, %r3; st.global.u32 [%d2], %r4;`,
    launch: {
      grid: 24,
      block: 32,
      arguments: [
        {
          kind: 'pointers',
          targets: [
            { buffer: 'out', offsetBytes: 0 },
            { buffer: 'out', offsetBytes: 128 },
          ],
        },
        'out',
      ],
      buffers: { out: 25 * 128 },
    },
  },
];

describe('results of CTAs that race are those of running them one by one in the seeded order', () => {
  sampled('racing CTAs', RACES, { oneIn: 4 })('$name', async ({ body, launch }) => {
    const text = moduleText(entry({ parameters: ['u64 in', 'u64 out'], body }));
    for (const orderSeed of [0, 5]) {
      const [first, ...others] = await onAllThreads(text, launch, orderSeed);
      for (const other of others) expect(other).toEqual(first);
    }
  });

  it('the seeded order is what decides: the last CTA to store wins', async () => {
    const { body, launch } = RACES[0]!;
    const text = moduleText(entry({ parameters: ['u64 in', 'u64 out'], body }));
    const winner = async (orderSeed: number) => {
      const [result] = await onAllThreads(text, launch, orderSeed, 1);
      return Math.floor(Buffer.from(result!.contents.out!.slice(0, 8), 'hex').readUInt32LE() / 32);
    };
    expect(await winner(0)).toBe(39);
    const winners = [await winner(1), await winner(2), await winner(3)];
    expect(new Set(winners).size).toBeGreaterThan(1);
  });
});

describe('kernels whose CTAs do not race', () => {
  /** Rows of 32 words summed by butterfly, with divergence, shared memory and a barrier on the way. */
  const ORDERLY = `${INDEX} ${BUSY} ${wordAt('%d1', '%in', '%r3')} ld.global.f32 %f0, [%d1];
    setp.gt.f32 %p0, %f0, 0f3F000000; @%p0 bra BIG; mul.f32 %f0, %f0, 0f40400000; bra JOIN;
    BIG: sqrt.rn.f32 %f0, %f0;
    JOIN: mov.u32 %r4, words; shl.b32 %r5, %r0, 2; add.u32 %r4, %r4, %r5; st.shared.f32 [%r4], %f0; bar.sync 0;
    xor.b32 %r6, %r5, 252; mov.u32 %r7, words; add.u32 %r7, %r7, %r6; ld.shared.f32 %f1, [%r7];
    fma.rn.f32 %f1, %f1, %f0, %f0; mov.b32 %r8, %f1; shfl.sync.bfly.b32 %r9, %r8, 16, 31, 0xffffffff;
    mov.b32 %f2, %r9; add.f32 %f2, %f2, %f1; ${wordAt('%d2', '%out', '%r3')} st.global.f32 [%d2], %f2;`;
  const text = moduleText(
    '.shared .align 4 .b8 words[256];',
    entry({ parameters: ['u64 in', 'u64 out'], body: ORDERLY }),
  );
  const input = Float32Array.from({ length: 50 * 64 }, (_, i) => Math.abs(Math.sin(i)));
  const launch: KernelLaunch = {
    grid: 50,
    block: 64,
    arguments: ['in', 'out'],
    buffers: { in: input, out: input.byteLength },
  };

  it('give the same bits and counters on 1, 2 and 8 threads, and in every order', async () => {
    const results = [
      ...(await onAllThreads(text, launch, 0)),
      ...(await onAllThreads(text, launch, 1)),
      ...(await onAllThreads(text, launch, 99)),
    ];
    const [first, ...others] = results;
    expect(first!.counters.globalLoadSectors).toBe(50 * 2 * 4);
    expect(first!.counters.divergentBranches).toBeGreaterThan(0);
    for (const other of others) expect(other).toEqual(first);
  });
});

describe('WARPSMITH_THREADS', () => {
  it('says how many threads a virtual device has where nobody else does', () => {
    expect(['', '1', '16'].map((asked) => usualThreads(asked))).toEqual([undefined, 1, 16]);
    for (const asked of ['0', '-1', '1.5', 'all', '1e9'])
      expect(() => usualThreads(asked), asked).toThrow('WARPSMITH_THREADS');
  });
});
