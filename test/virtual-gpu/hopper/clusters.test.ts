import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import type { KernelLaunch } from '../../support/launch/launch-kernel.ts';
import { type HopperKernel, outputOf, POINTER, refusalOf, runHopper, waitFor } from './ptx.ts';

let device: Device;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
});
afterAll(() => device.close());

/** A kernel of 32 threads per CTA. `%r0`: thread; `%r1`: rank; `%r2`: CTAs of the cluster; `%rd30`: the CTA's 64 words of `out`. */
const clustered = (body: string): HopperKernel => ({
  parameters: [POINTER('out')],
  threads: 32,
  body: `
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, %cluster_nctarank;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ctaid.y;
  mov.u32 %r5, %nctaid.x;
  mad.lo.u32 %r3, %r4, %r5, %r3;
  shl.b32 %r6, %r3, 8;
  cvt.u64.u32 %rd1, %r6;
  ld.param.u64 %rd30, [out];
  cvta.to.global.u64 %rd30, %rd30;
  add.u64 %rd30, %rd30, %rd1;
  mov.u32 %r10, smem;
  shl.b32 %r7, %r0, 2;
  add.u32 %r11, %r10, %r7;
  ${body}`,
});

const meet = 'barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;';
/** `%r20`: the rank of the next CTA of the cluster. */
const next = 'add.u32 %r20, %r1, 1; rem.u32 %r20, %r20, %r2;';
/** Each thread stores a word at its place. */
const store = (register: string): string => `
  cvt.u64.u32 %rd2, %r7; add.u64 %rd3, %rd30, %rd2;
  st.global.b32 [%rd3], ${register};`;

const launch = (ctas: number, cluster: KernelLaunch['cluster'], options = {}): KernelLaunch => ({
  arguments: ['out'],
  buffers: { out: 256 * ctas },
  grid: ctas,
  ...(cluster === undefined ? {} : { cluster }),
  dynamicSharedBytes: 1024,
  options,
});

/** `length` words of each CTA. */
async function wordsOf(kernel: HopperKernel, launched: KernelLaunch, length: number): Promise<number[][]> {
  const contents = await outputOf(device, kernel, launched);
  const words = new Int32Array(contents.buffer, contents.byteOffset, contents.length / 4);
  return Array.from({ length: words.length / 64 }, (_, cta) => [...words.subarray(cta * 64, cta * 64 + length)]);
}

describe('special registers', () => {
  const names = ['clusterid', 'nclusterid', 'cluster_ctaid', 'cluster_nctaid'];
  const registers = [
    ...names.flatMap((name) => ['x', 'y', 'z'].map((axis) => `%${name}.${axis}`)),
    '%cluster_ctarank',
    '%cluster_nctarank',
  ];
  const kernel = clustered(
    registers.map((name, i) => `mov.u32 %r8, ${name}; st.global.b32 [%rd30+${4 * i}], %r8;`).join('\n'),
  );

  it('tell where a CTA lies in its cluster, and the cluster in the grid', async () => {
    const launched = { ...launch(16, [2, 2, 1]), grid: [4, 4, 1] as const };
    const words = await wordsOf(kernel, launched, registers.length);
    // CTA (3, 1): cluster (1, 0), the last CTA of it.
    expect(words[7]).toEqual([1, 0, 0, 2, 2, 1, 1, 1, 0, 2, 2, 1, 3, 4]);
    // CTA (0, 2): cluster (0, 1), the first.
    expect(words[8]).toEqual([0, 1, 0, 2, 2, 1, 0, 0, 0, 2, 2, 1, 0, 4]);
  });

  it('make each CTA a cluster of its own where the launch has none', async () => {
    const words = await wordsOf(kernel, launch(3, undefined), registers.length);
    expect(words[2]).toEqual([2, 0, 0, 3, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1]);
  });
});

/** Each CTA reads the words of the next one. */
const exchange = (body: string, between = meet, end = meet): HopperKernel =>
  clustered(`
  mad.lo.u32 %r8, %r3, 1000, %r0;
  st.shared.b32 [%r11], %r8;
  ${between}
  ${next}
  ${body}
  ${store('%r9')}
  ${end}`);

const READS: Readonly<Record<string, string>> = {
  'mapa.shared::cluster.u32 and ld.shared::cluster': `
    mapa.shared::cluster.u32 %r12, %r11, %r20;
    ld.shared::cluster.b32 %r9, [%r12];`,
  'mapa.u64 and a generic load': `
    cvta.shared.u64 %rd5, smem;
    cvt.u64.u32 %rd6, %r7;
    add.u64 %rd5, %rd5, %rd6;
    mapa.u64 %rd7, %rd5, %r20;
    ld.b32 %r9, [%rd7];`,
  'a volatile load': `
    mapa.shared::cluster.u32 %r12, %r11, %r20;
    ld.volatile.shared::cluster.b32 %r9, [%r12];`,
};

describe('distributed shared memory', () => {
  const expected = Array.from({ length: 8 }, (_, cta) => 1000 * (cta - (cta % 4) + ((cta + 1) % 4)) + 5);

  it.each(Object.entries(READS))('is read by %s', async (_, body) => {
    for (const orderSeed of [0, 7]) {
      const words = await wordsOf(exchange(body), launch(8, 4, { orderSeed }), 32);
      expect(words.map((cta) => cta[5])).toEqual(expected);
    }
  });

  it('is read in watched and counted runs, too', async () => {
    const kernel = exchange(READS['mapa.u64 and a generic load']!);
    for (const options of [{ findRaces: true }, { count: true }]) {
      const words = await wordsOf(kernel, launch(8, 4, options), 32);
      expect(words.map((cta) => cta[5])).toEqual(expected);
    }
  });

  it('holds what others stored and added', async () => {
    const kernel = clustered(`
      st.shared.b32 [%r11], 0;
      ${meet}
      ${next}
      mapa.shared::cluster.u32 %r12, %r11, %r20;
      add.u32 %r8, %r1, 1;
      atom.shared::cluster.add.u32 %r9, [%r12], %r8;
      mapa.shared::cluster.u32 %r13, %r10, 0;
      red.shared::cluster.add.u32 [%r13+256], %r8;
      st.shared::cluster.b32 [%r12+128], %r1;
      ${meet}
      ld.shared.b32 %r14, [%r11];
      ld.shared.b32 %r15, [%r11+128];
      mad.lo.u32 %r14, %r15, 100, %r14;
      ${store('%r14')}`);
    const words = await wordsOf(kernel, launch(4, 4), 32);
    expect(words.map((cta) => cta[31])).toEqual([304, 1, 102, 203]);
  });

  it('is one of as many as the cluster has CTAs', async () => {
    const kernel = exchange('mapa.shared::cluster.u32 %r12, %r11, 4; ld.shared::cluster.b32 %r9, [%r12];');
    expect(await refusalOf(device, kernel, launch(4, 4))).toMatch(
      /^unsafe: .*names CTA 4 of a cluster that has ranks 0 to 3/,
    );
    const alone = exchange('mapa.shared::cluster.u32 %r12, %r11, 1; ld.shared::cluster.b32 %r9, [%r12];');
    expect(await refusalOf(device, alone, launch(4, undefined))).toMatch(
      /names CTA 1 of a cluster that has only rank 0/,
    );
  });

  it('ends with its CTA', async () => {
    const reads = READS['mapa.shared::cluster.u32 and ld.shared::cluster']!;
    // CTA 0 leaves after the first meeting; the last one reads its memory.
    expect(await refusalOf(device, exchange(reads, meet, ''), launch(4, 4))).toMatch(
      /^unsafe: .*reaches the shared memory of CTA 0 of the cluster, which has exited: it must wait until the others are done/,
    );
    expect(await refusalOf(device, exchange(reads), launch(4, 4))).toBe('passed');
  });

  it('has bounds', async () => {
    const beyond = 'mapa.shared::cluster.u32 %r12, %r11, %r20; ld.shared::cluster.b32 %r9, [%r12+1024];';
    expect(await refusalOf(device, exchange(beyond), launch(4, 4))).toMatch(
      /^unsafe: .*out-of-bounds read in the shared memory of CTA 1/,
    );
  });

  it('is out of reach for instructions of the own CTA', async () => {
    const own = 'mapa.shared::cluster.u32 %r12, %r11, %r20; ld.shared.b32 %r9, [%r12];';
    expect(await refusalOf(device, exchange(own), launch(4, 4))).toMatch(
      /^unsafe: .*a read at an address that names CTA 1 of the cluster, by an instruction for the own CTA's/,
    );
  });

  it('is named by the own rank, too: the address means the same to who gets it', async () => {
    // Each CTA leaves the address of its own words for the one before it, which reads through it.
    const kernel = exchange(
      `ld.shared.b32 %r13, [%r10+512];
      ld.shared::cluster.b32 %r9, [%r13];`,
      `mapa.shared::cluster.u32 %r14, %r10, %r1;
      add.u32 %r14, %r14, 20;
      add.u32 %r16, %r1, %r2; sub.u32 %r16, %r16, 1; rem.u32 %r16, %r16, %r2;
      mapa.shared::cluster.u32 %r17, %r10, %r16;
      st.shared::cluster.b32 [%r17+512], %r14;
      ${meet}`,
    );
    for (const options of [{}, { findRaces: true }]) {
      const words = await wordsOf(kernel, launch(8, 4, options), 32);
      expect(words.map((cta) => cta[9])).toEqual(expected);
    }
  });

  it('has addresses that hold the rank of their CTA from bit 24 on, those of the own CTA, too', async () => {
    const kernel = clustered(`
      ${next}
      mapa.shared::cluster.u32 %r12, %r11, %r20;
      getctarank.shared::cluster.u32 %r13, %r10;
      cvta.shared.u64 %rd5, smem;
      cvt.u32.u64 %r14, %rd5;
      mapa.shared::cluster.u32 %r15, smem, %r1;
      st.global.b32 [%rd30], %r11; st.global.b32 [%rd30+4], %r12; st.global.b32 [%rd30+8], %r13;
      st.global.b32 [%rd30+12], %r14; st.global.b32 [%rd30+16], %r15;`);
    // The last lane's values remain: its place is byte 124.
    const place = (rank: number, offset: number): number => rank * 2 ** 24 + offset;
    expect(await wordsOf(kernel, launch(4, 4), 5)).toEqual(
      [0, 1, 2, 3].map((rank) => [
        ...[place(rank, 124), place((rank + 1) % 4, 124), rank],
        ...[place(rank, 0), place(rank, 0)],
      ]),
    );
    expect((await wordsOf(kernel, launch(1, 1), 1)).flat()).toEqual([124]);
  });

  it.each([
    ['a plain access', 'st.shared.b32 [%r11+128], %r8; ld.shared.b32 %r9, [%r11+128];'],
    [
      'a plain access by name',
      'st.shared.b32 [smem+128], %r3; ld.shared.b32 %r9, [smem+128]; mad.lo.u32 %r9, %r9, 1000, %r0;',
    ],
    [
      'a plain access from below',
      'sub.u32 %r12, %r11, 64; st.shared.b32 [%r12+64], %r8; ld.shared.b32 %r9, [%r12+64];',
    ],
    ['a volatile access', 'st.volatile.shared.b32 [%r11+128], %r8; ld.volatile.shared.b32 %r9, [%r11+128];'],
    [
      'a volatile access by name',
      'st.volatile.shared.b32 [smem+128], %r3; ld.volatile.shared.b32 %r9, [smem+128]; mad.lo.u32 %r9, %r9, 1000, %r0;',
    ],
    ['a generic access', 'cvt.u64.u32 %rd5, %r11; cvta.shared.u64 %rd5, %rd5; st.b32 [%rd5], %r8; ld.b32 %r9, [%rd5];'],
    ['an atomic', 'st.shared.b32 [%r11], 0; atom.shared.add.u32 %r12, [%r11], %r8; ld.shared.b32 %r9, [%r11];'],
    [
      'a store to the cluster',
      'mapa.shared::cluster.u32 %r12, %r11, %r1; st.shared::cluster.b32 [%r12], %r8; ld.shared::cluster.b32 %r9, [%r11];',
    ],
    [
      'an address without the rank',
      'and.b32 %r12, %r11, 0xffffff; st.shared.b32 [%r12], %r8; ld.shared.b32 %r9, [%r12];',
    ],
  ])('of the own CTA is reached by %s', async (_, body) => {
    const kernel = clustered(`
      mad.lo.u32 %r8, %r3, 1000, %r0;
      mapa.shared::cluster.u32 %r21, %r10, %r1;
      ${body}
      ${store('%r9')}
      ${meet}`);
    for (const options of [{}, { findRaces: true }, { count: true }, { orderSeed: 5 }])
      expect((await wordsOf(kernel, launch(4, 4, options), 8)).map((cta) => cta[7])).toEqual([7, 1007, 2007, 3007]);
  });

  it('is that of the first CTA for who takes the rank out of an address', async () => {
    const kernel = exchange('and.b32 %r12, %r11, 0xffffff; ld.shared::cluster.b32 %r9, [%r12];');
    expect((await wordsOf(kernel, launch(4, 4), 8)).map((cta) => cta[5])).toEqual([5, 5, 5, 5]);
  });

  it('takes warp operations of the own CTA through an address with its rank', async () => {
    const matrices = `
      shl.b32 %r8, %r0, 4;
      mapa.shared::cluster.u32 %r12, %r10, %r1;
      add.u32 %r12, %r12, %r8;
      ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r9, %r13, %r14, %r15}, [%r12];`;
    const words = await wordsOf(exchange(matrices), launch(4, 4), 8);
    expect(words.map((cta) => cta[5])).toEqual([0, 1, 2, 3].map((cta) => 1000 * cta + 5));
  });
});

describe("the cluster's barrier", () => {
  it('lets nobody on before all have arrived, and counts phase by phase', async () => {
    // A word goes round the ring, a CTA further in each phase.
    const kernel = clustered(`
      add.u32 %r8, %r1, 1;
      st.shared.b32 [%r11], %r8;
      ${next}
      mapa.shared::cluster.u32 %r12, %r11, %r20;
      mov.u32 %r21, 0;
    again:
      ${meet}
      ld.shared::cluster.b32 %r9, [%r12];
      ${meet}
      st.shared.b32 [%r11], %r9;
      add.u32 %r21, %r21, 1;
      setp.lt.u32 %p1, %r21, 3;
      @%p1 bra again;
      ${store('%r9')}
      ${meet}`);
    for (const orderSeed of [0, 3])
      expect((await wordsOf(kernel, launch(4, 4, { orderSeed, findRaces: true }), 1)).flat()).toEqual([4, 1, 2, 3]);
  });

  it('does not wait for threads that have exited', async () => {
    const kernel = clustered(`
      setp.ge.u32 %p1, %r0, 8;
      @%p1 ret;
      setp.eq.u32 %p1, %r1, 3;
      @%p1 ret;
      barrier.cluster.arrive; barrier.cluster.wait;
      ${store('%r1')}`);
    expect((await wordsOf(kernel, launch(4, 4), 1)).flat()).toEqual([0, 1, 2, 0]);
  });

  it.each([
    [
      'an arrival before the wait',
      'barrier.cluster.wait;',
      /a wait at the cluster's barrier, at which the thread has not arrived/,
    ],
    [
      'a wait before the next arrival',
      'barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;',
      /arrives at the cluster's barrier twice, with no barrier.cluster.wait between/,
    ],
    [
      'all threads',
      `setp.eq.u32 %p1, %r1, 2; @%p1 bra stay; ${meet} bra.uni end; stay: bar.sync 1, 64; end:`,
      /barrier 1 was reached by 32 of 64 threads/,
    ],
    [
      'all CTAs',
      `setp.eq.u32 %p1, %r1, 2; @%p1 bra stay; barrier.cluster.arrive; stay: barrier.cluster.arrive; barrier.cluster.wait;`,
      /arrives at the cluster's barrier twice/,
    ],
  ])('needs %s', async (_, body, message) => {
    expect(await refusalOf(device, clustered(body), launch(4, 4))).toMatch(message);
  });

  it('orders accesses to device memory, if the arrival releases', async () => {
    // CTA 0 writes, CTA 1 reads.
    const kernel = (arrive: string): HopperKernel =>
      clustered(`
      ld.param.u64 %rd31, [out];
      cvta.to.global.u64 %rd31, %rd31;
      setp.ne.u32 %p1, %r1, 0;
      @%p1 bra met;
      st.global.b32 [%rd31+128], 7;
    met:
      ${arrive}
      barrier.cluster.wait.acquire;
      ld.global.b32 %r9, [%rd31+128];
      ${store('%r9')}`);
    const watched = launch(2, 2, { findRaces: true });
    expect(await refusalOf(device, kernel('barrier.cluster.arrive.release;'), watched)).toBe('passed');
    expect(await refusalOf(device, kernel('barrier.cluster.arrive;'), watched)).toBe('passed');
    expect(await refusalOf(device, kernel('barrier.cluster.arrive.relaxed;'), watched)).toMatch(
      /^unsafe: .*race: a global read of 4 bytes and a write of thread \(0, 0, 0\) of CTA \(0, 0, 0\)/,
    );
  });
});

describe('mbarriers of other CTAs', () => {
  /** All threads of the cluster arrive at the mbarrier of CTA 0, which waits. */
  const gather = (arrive: string, count = '%r12'): HopperKernel =>
    clustered(`
      shl.b32 %r12, %r2, 5;
      setp.ne.u32 %p0, %r0, 0;
      @%p0 bra initialised;
      mbarrier.init.shared::cta.b64 [%r10], ${count};
      fence.mbarrier_init.release.cluster;
    initialised:
      ${meet}
      mapa.shared::cluster.u32 %r13, %r10, 0;
      ${arrive}
      setp.ne.u32 %p2, %r1, 0;
      @%p2 bra done;
      ${waitFor('%r10', 0, 'again')}
    done:
      ${store('%r12')}
      ${meet}`);

  it('count arrivals from the whole cluster', async () => {
    const kernel = gather('mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r13];');
    expect((await wordsOf(kernel, launch(4, 4, { findRaces: true }), 1)).flat()).toEqual([128, 128, 128, 128]);
  });

  it('say what they lack', async () => {
    const kernel = gather('mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r13];', '129');
    expect(await refusalOf(device, kernel, launch(4, 4))).toMatch(
      /no thread can go on: thread \(\d+, 0, 0\) waits for phase 0 of the mbarrier at shared address 0, which lacks 1 of 129 arrivals/,
    );
  });

  it('are waited for by their own CTA alone', async () => {
    const kernel = gather('mbarrier.test_wait.shared::cluster.b64 %p3, [%r13], 0;', '1');
    expect(await refusalOf(device, kernel, launch(4, 4))).toMatch(/reaches no mbarrier of another CTA, here of CTA 0/);
  });

  const send = (width: string): HopperKernel =>
    clustered(`
      setp.ne.u32 %p0, %r0, 0;
      @%p0 bra initialised;
      mbarrier.init.shared::cta.b64 [%r10], 1;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 512;
      fence.mbarrier_init.release.cluster;
    initialised:
      ${meet}
      ${next}
      mapa.shared::cluster.u32 %r13, %r10, %r20;
      shl.b32 %r14, %r0, 4;
      add.u32 %r15, %r13, %r14;
      mad.lo.u32 %r8, %r3, 1000, %r0;
      ${width}
      ${waitFor('%r10', 0, 'again')}
      add.u32 %r15, %r10, %r14;
      ld.shared.b32 %r9, [%r15+28];
      ${store('%r9')}
      ${meet}`);
  const FROM_BEFORE = [3000, 0, 1000, 2000];

  it.each([
    [
      'a vector',
      'st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r15+16], {0, 0, 0, %r8}, [%r13];',
    ],
    [
      'pairs',
      `cvt.u64.u32 %rd5, %r8; shl.b64 %rd5, %rd5, 32;
       st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%r15+16], {0, %rd5}, [%r13];`,
    ],
  ])('complete with the bytes that st.async brings: %s', async (_, width) => {
    const words = await wordsOf(send(width), launch(4, 4, { findRaces: true }), 32);
    expect(words.map((cta) => cta[9])).toEqual(FROM_BEFORE.map((first) => first + 9));
  });

  it('are waited for before their CTA ends', async () => {
    const kernel = send(
      'st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r15+16], {0, 0, 0, %r8}, [%r13];',
    );
    const unwaited = { ...kernel, body: kernel.body.replace(waitFor('%r10', 0, 'again'), '') };
    expect(await refusalOf(device, unwaited, launch(4, 4))).toMatch(
      /the CTA ends while bytes are on their way to its shared memory: nothing there waits for/,
    );
  });

  it('lie in the CTA to which st.async stores', async () => {
    const elsewhere =
      'st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r15+16], {0, 0, 0, %r8}, [%r10];';
    expect(await refusalOf(device, send(elsewhere), launch(4, 4))).toMatch(
      /sends to CTA 1 of the cluster and completes an mbarrier of CTA 0: both lie in one/,
    );
  });
});

describe('bulk copies in a cluster', () => {
  /** `%r10`: an mbarrier; from 128 on what arrives; from 512 on what is sent. CTA c sends 4 bytes of 100 c + i for each i. */
  const copying = (copy: string, expected: number): HopperKernel =>
    clustered(`
      mad.lo.u32 %r8, %r1, 100, %r0;
      st.shared.b32 [%r11+512], %r8;
      setp.ne.u32 %p0, %r0, 0;
      @%p0 bra initialised;
      mbarrier.init.shared::cta.b64 [%r10], 1;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], ${expected};
      fence.mbarrier_init.release.cluster;
      fence.proxy.async;
    initialised:
      ${meet}
      ${next}
      @%p0 bra sent;
      ${copy}
    sent:
      ${waitFor('%r10', 0, 'again')}
      ld.shared.b32 %r9, [%r11+128];
      ${store('%r9')}
      ${meet}`);

  it('go from CTA to CTA', async () => {
    const kernel = copying(
      `mapa.shared::cluster.u32 %r13, %r10, %r20;
       fence.proxy.async;
       cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r13+128], [%r10+512], 128, [%r13];`,
      128,
    );
    for (const options of [{}, { findRaces: true }, { orderSeed: 9 }]) {
      const words = await wordsOf(kernel, launch(4, 4, options), 32);
      expect(words.map((cta) => cta[7])).toEqual([307, 7, 107, 207]);
    }
  });

  it('need a launch with clusters, as st.async does, be they of one CTA: a GPU stops at them otherwise', async () => {
    const bytes = 'mbarrier::complete_tx::bytes';
    const copy = `cp.async.bulk.shared::cluster.shared::cta.${bytes} [%r10+128], [%r10+512], 128, [%r10];`;
    const store = `st.async.weak.shared::cluster.${bytes}.b32 [%r10+128], %r8, [%r10];`;
    for (const [instruction, sent] of [
      [copy, 128],
      [store, 4],
    ] as const) {
      expect(await refusalOf(device, copying(instruction, sent), launch(4, undefined))).toMatch(
        /^unsafe: kernel: (?:cp|st)\.async\S* sends to the shared memory of a cluster, but the launch has none:/,
      );
      for (const cluster of [1, 2])
        for (const options of [{}, { findRaces: true }])
          expect(await refusalOf(device, copying(instruction, sent), launch(4, cluster, options))).toBe('passed');
    }
  });

  const fromInput = (mask: string): string => `
      setp.ne.u32 %p1, %r1, 1;
      @%p1 bra sent;
      ld.param.u64 %rd5, [in];
      cvta.to.global.u64 %rd5, %rd5;
      mov.u16 %h1, ${mask};
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r10+128], [%rd5], 128, [%r10], %h1;`;
  const multicast = (mask: string, expected = 128): HopperKernel => {
    const kernel = copying(fromInput(mask), expected);
    return { ...kernel, parameters: [POINTER('out'), POINTER('in')], body: `.reg .b16 %h<2>;\n${kernel.body}` };
  };
  const input = Int32Array.from({ length: 32 }, (_, i) => 1000 + i);
  const withInput = (options = {}): KernelLaunch => ({
    ...launch(4, 4, options),
    arguments: ['out', 'in'],
    buffers: { out: 1024, in: input },
  });

  it('go to all CTAs that a multicast names, and complete the mbarrier of each', async () => {
    for (const options of [{}, { findRaces: true }, { count: true }]) {
      const words = await wordsOf(multicast('15'), withInput(options), 32);
      expect(words.map((cta) => cta[31])).toEqual([1031, 1031, 1031, 1031]);
    }
  });

  it('leave the others waiting', async () => {
    expect(await refusalOf(device, multicast('7'), withInput())).toMatch(
      /no thread can go on: .*which lacks 128 bytes of copies in CTA \(3, 0, 0\)/,
    );
    expect(await refusalOf(device, multicast('31'), withInput())).toMatch(
      /names CTA 4 of a cluster that has ranks 0 to 3/,
    );
  });
});

describe('races in distributed shared memory', () => {
  const watched = (orderSeed: number): KernelLaunch => launch(4, 4, { findRaces: true, orderSeed });
  const reads = READS['mapa.shared::cluster.u32 and ld.shared::cluster']!;
  const both = async (kernel: HopperKernel): Promise<string[]> => [
    await refusalOf(device, kernel, watched(0)),
    await refusalOf(device, kernel, watched(5)),
  ];

  it('are between accesses that no barrier of the cluster orders', async () => {
    const relaxed = 'barrier.cluster.arrive.relaxed; barrier.cluster.wait;';
    for (const between of ['', relaxed, 'bar.sync 0;'])
      for (const refusal of await both(exchange(reads, between)))
        expect(refusal).toMatch(
          /^unsafe: .*race: a shared (read|write) of 4 bytes and a (read|write) of thread .* of CTA .* have no barrier of the cluster between them/,
        );
    expect(await both(exchange(reads))).toEqual(['passed', 'passed']);
  });

  it('are between stores of several CTAs to one place, but not between their atomics', async () => {
    const toFirst = (access: string): HopperKernel =>
      clustered(`
      st.shared.b32 [%r11], 0;
      ${meet}
      mapa.shared::cluster.u32 %r12, %r11, 0;
      ${access}
      ${meet}
      ld.shared.b32 %r9, [%r11];
      ${store('%r9')}`);
    for (const refusal of await both(toFirst('st.shared::cluster.b32 [%r12], %r1;')))
      expect(refusal).toMatch(/race: a shared write of 4 bytes and a write of thread .* of CTA /);
    expect(await both(toFirst('red.shared::cluster.add.u32 [%r12], %r1;'))).toEqual(['passed', 'passed']);
  });

  it('are with the end of the CTA, whoever came first here', async () => {
    // CTA 0 reads the memory of CTA 1, which does not wait for it.
    const kernel = (end: string): HopperKernel =>
      clustered(`
      st.shared.b32 [%r11], %r0;
      ${meet}
      setp.ne.u32 %p1, %r1, 0;
      @%p1 bra done;
      mapa.shared::cluster.u32 %r12, %r11, 1;
      ld.shared::cluster.b32 %r9, [%r12];
      ${store('%r9')}
    done:
      ${end}`);
    expect(await refusalOf(device, kernel(''), launch(2, 2))).toBe('passed');
    expect(await refusalOf(device, kernel(''), launch(2, 2, { findRaces: true }))).toMatch(
      /^unsafe: .*race: the read of thread \(\d+, 0, 0\) of CTA \(0, 0, 0\) to shared memory of this CTA may come after the CTA has exited.* in CTA \(1, 0, 0\)/,
    );
    expect(await refusalOf(device, kernel(meet), launch(2, 2, { findRaces: true }))).toBe('passed');
  });

  it('are not with what comes through an mbarrier, or behind a flag that is released and acquired', async () => {
    const kernel = clustered(`
      st.shared.b32 [%r11], 0;
      ${meet}
      setp.ne.u32 %p0, %r0, 0;
      @%p0 bra done;
      mapa.shared::cluster.u32 %r12, %r10, 1;
      setp.ne.u32 %p1, %r1, 0;
      @%p1 bra waits;
      st.shared::cluster.b32 [%r12+4], 42;
      st.release.cluster.shared::cluster.b32 [%r12], 1;
      bra.uni done;
    waits:
      ld.acquire.cluster.shared::cta.b32 %r13, [%r10];
      setp.eq.u32 %p2, %r13, 0;
      @%p2 bra waits;
      ld.shared.b32 %r14, [%r10+4];
      st.global.b32 [%rd30], %r14;
    done:
      ${meet}`);
    for (const orderSeed of [0, 5]) {
      const options = { findRaces: true, orderSeed };
      expect((await wordsOf(kernel, launch(2, 2, options), 1)).flat()).toEqual([0, 42]);
      const weak = { ...kernel, body: kernel.body.replace('st.release.cluster', 'st.weak') };
      expect(await refusalOf(device, weak, launch(2, 2, options))).toMatch(
        /race: a shared read of 4 bytes and a write/,
      );
    }
  });
});

describe('launches', () => {
  it.each([
    [
      'a grid of whole clusters',
      launch(6, 4),
      /launch-failed: .*grid 6 × 1 × 1 is not made of whole clusters of 4 × 1 × 1/,
    ],
  ])('need %s', async (_, launched, message) => {
    expect(await refusalOf(device, clustered(''), launched)).toMatch(message);
  });

  it('let CTAs of a cluster take turns in the seeded order', async () => {
    const kernel = clustered(`
      ld.param.u64 %rd31, [out];
      cvta.to.global.u64 %rd31, %rd31;
      setp.ne.u32 %p1, %r0, 0;
      @%p1 ret;
      atom.global.add.u32 %r9, [%rd31+128], 1;
      st.global.b32 [%rd30], %r9;`);
    const turns = async (orderSeed: number) => (await wordsOf(kernel, launch(8, 8, { orderSeed }), 1)).flat();
    const natural = [0, 1, 2, 3, 4, 5, 6, 7];
    expect(await turns(0)).toEqual(natural);
    const seeded = await turns(5);
    expect(seeded).not.toEqual(natural);
    expect(seeded.toSorted()).toEqual(natural);
  });

  it('say which CTA of a cluster wrote', async () => {
    const kernel = clustered(`${meet} ${store('%r1')}`);
    for (const cta of [0, 1, 3]) {
      const watch = { buffer: 'out', offsetBytes: 256 * cta + 20, bytes: 4 };
      const outcome = await runHopper(device, kernel, launch(4, 4, { watch }));
      expect(outcome).toMatchObject({ writes: { count: 1, last: { cta: [cta, 0, 0], thread: [5, 0, 0] } } });
    }
  });

  it('are refused by devices without clusters', async () => {
    const l4 = await openDevice('virtual:l4', { threads: 1 });
    const outcome = await refusalOf(l4, clustered(''), launch(4, 2)).catch(String);
    await l4.close();
    expect(outcome).toMatch(/unsupported/);
  });

  it('give the same on any number of threads', async () => {
    const three = await openDevice('virtual:h200', { threads: 3 });
    try {
      const kernel = exchange(READS['mapa.shared::cluster.u32 and ld.shared::cluster']!);
      const [one, many] = await Promise.all(
        [device, three].map((each) => outputOf(each, kernel, launch(24, 4, { orderSeed: 5 }))),
      );
      expect(many).toEqual(one);
    } finally {
      await three.close();
    }
  });
});
