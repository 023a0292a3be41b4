import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import type { KernelLaunch } from '../../support/launch/launch-kernel.ts';
import { byThread0, type HopperKernel, outputOf, POINTER, refusalOf, storeShared, waitFor } from './ptx.ts';

let device: Device;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
});
afterAll(() => device.close());

/** `%r10`: an mbarrier of so many arrivals, initialised; `%rd30`: where `out` begins. */
const withBarrier = (count: number, body: string, threads = 64): HopperKernel => ({
  parameters: [POINTER('out'), POINTER('in')],
  threads,
  body: `
  mov.u32 %r10, smem;
  ld.param.u64 %rd30, [out];
  cvta.to.global.u64 %rd30, %rd30;
  ${byThread0(`mbarrier.init.shared::cta.b64 [%r10], ${count};`, 'initialised')}
  bar.sync 0;
  ${body}`,
});

const launch = (input = 256): KernelLaunch => ({
  arguments: ['out', 'in'],
  buffers: { out: 1024, in: Uint8Array.from({ length: input }, (_, i) => i) },
});

const words = async (kernel: HopperKernel): Promise<number[]> => {
  const contents = await outputOf(device, kernel, launch());
  return [...new Int32Array(contents.buffer, contents.byteOffset, 8)];
};

/** Stores a predicate as 1 or 0 at `out` + 4 · `index`. */
const store = (predicate: string, index: number): string => `
  selp.u32 %r60, 1, 0, ${predicate};
  st.global.b32 [%rd30+${index * 4}], %r60;`;

describe('phases', () => {
  it('end with the last arrival, and a wait by parity tells the current one from the last', async () => {
    const kernel = withBarrier(
      2,
      byThread0(`
      mbarrier.arrive.shared::cta.b64 %rd1, [%r10];
      mbarrier.pending_count.b64 %r20, %rd1;
      mbarrier.test_wait.shared::cta.b64 %p1, [%r10], %rd1;
      ${store('%p1', 0)}
      mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r10], 1;
      ${store('%p1', 1)}
      mbarrier.arrive.shared::cta.b64 %rd2, [%r10];
      mbarrier.pending_count.b64 %r21, %rd2;
      mbarrier.test_wait.shared::cta.b64 %p1, [%r10], %rd1;
      ${store('%p1', 2)}
      mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r10], 0;
      ${store('%p1', 3)}
      mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r10], 1;
      ${store('%p1', 4)}
      st.global.b32 [%rd30+20], %r20;
      st.global.b32 [%rd30+24], %r21;`),
    );
    // Before an arrival 2, then 1, were pending. The phase before the first has parity 1, and counts as complete.
    expect(await words(kernel)).toEqual([0, 1, 1, 1, 0, 2, 1, 0]);
  });

  it.each([
    ['at one mbarrier', { distance: 0, parity: 0 }, [1, 1, 1, 1, 1, 1, 1, 1]],
    ['at two, of which one is complete', { distance: 8, parity: 0 }, [1, 0, 1, 0, 1, 0, 1, 0]],
    ['for two parities', { distance: 0, parity: 1 }, [1, 0, 1, 0, 1, 0, 1, 0]],
  ])('are over for the lanes of a warp that wait together %s', async (_, { distance, parity }, expected) => {
    const kernel = withBarrier(
      1,
      `
      ${byThread0('mbarrier.init.shared::cta.b64 [%r10+8], 1; mbarrier.arrive.shared::cta.b64 %rd1, [%r10];', 'second')}
      bar.sync 0;
      mov.u32 %r20, %tid.x;
      and.b32 %r21, %r20, 1;
      mad.lo.u32 %r22, %r21, ${distance}, %r10;
      mul.lo.u32 %r23, %r21, ${parity};
      mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r22], %r23;
      setp.gt.u32 %p3, %r20, 7;
      @%p3 bra over;
      selp.u32 %r24, 1, 0, %p1;
      mul.wide.u32 %rd31, %r20, 4;
      add.u64 %rd31, %rd31, %rd30;
      st.global.b32 [%rd31], %r24;
      over:`,
    );
    expect(await words(kernel)).toEqual(expected);
  });

  it('tell a whole warp of an mbarrier that another instruction has written to', async () => {
    const kernel = withBarrier(
      1,
      `
      ${byThread0('st.shared.b32 [%r10], 7;', 'overwritten')}
      bar.sync 0;
      mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r10], 0;`,
    );
    expect(await refusalOf(device, kernel, launch())).toMatch(/another instruction has written to the mbarrier there/);
  });

  it('wait for announced bytes, whichever comes first', async () => {
    const kernel = withBarrier(
      1,
      byThread0(`
      mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r10], 16;
      mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r10], 48;
      mbarrier.arrive.shared::cta.b64 _, [%r10];
      mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r10], 0;
      ${store('%p1', 0)}
      mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r10], 32;
      mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r10], 0;
      ${store('%p1', 1)}`),
    );
    expect(await words(kernel)).toEqual([0, 1, 0, 0, 0, 0, 0, 0]);
  });

  it('wait for fewer once a thread has dropped out', async () => {
    const kernel = withBarrier(
      2,
      byThread0(`
      mbarrier.arrive.shared::cta.b64 _, [%r10];
      mbarrier.arrive_drop.shared::cta.b64 _, [%r10];
      mbarrier.arrive.shared::cta.b64 _, [%r10];
      mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r10], 1;
      ${store('%p1', 0)}`),
    );
    expect(await words(kernel)).toEqual([1, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('let threads of other warps, and of the own warp, go on', async () => {
    // Thread 0 waits for a word that thread 40 hands over, thread 1 of its warp for one of thread 0.
    const kernel = withBarrier(
      1,
      `
      mov.u32 %r0, %tid.x;
      add.u32 %r11, %r10, 8;
      ${byThread0('mbarrier.init.shared::cta.b64 [%r11], 1;', 'second')}
      bar.sync 0;
      setp.eq.u32 %p2, %r0, 1;
      @%p2 bra one;
      setp.eq.u32 %p2, %r0, 0;
      @%p2 bra zero;
      setp.ne.u32 %p2, %r0, 40;
      @%p2 bra done;
      st.shared.b32 [%r10+16], 5;
      mbarrier.arrive.shared::cta.b64 _, [%r10];
      bra done;
    one:
      ${waitFor('%r11', 0, 'again_one')}
      ld.shared.b32 %r20, [%r10+20];
      st.global.b32 [%rd30+4], %r20;
      bra done;
    zero:
      ${waitFor('%r10', 0, 'again_zero')}
      ld.shared.b32 %r20, [%r10+16];
      st.global.b32 [%rd30], %r20;
      add.u32 %r20, %r20, 1;
      st.shared.b32 [%r10+20], %r20;
      mbarrier.arrive.shared::cta.b64 _, [%r11];
    done:`,
    );
    expect(await words(kernel)).toEqual([5, 6, 0, 0, 0, 0, 0, 0]);
    expect(await refusalOf(device, kernel, { ...launch(), options: { findRaces: true } })).toBe('passed');
  });
});

describe('lanes of a warp that one of them keeps waiting', () => {
  // Lane 0 waits for what warp 1 hands over much later, then hands it to its warp; whoever goes ahead would get what it had before.
  const kernel = withBarrier(
    1,
    `
      mov.u32 %r0, %tid.x;
      mul.wide.u32 %rd3, %r0, 4;
      add.u64 %rd3, %rd30, %rd3;
      mov.u32 %r20, 3;
      setp.ge.u32 %p2, %r0, 24;
      @%p2 bra producer;
      setp.ne.u32 %p2, %r0, 0;
      @%p2 bra meet;
      ${waitFor('%r10', 0, 'again')}
      ld.shared.b32 %r20, [%r10+16];
    meet:
      shfl.sync.idx.b32 %r21, %r20, 0, 31, 0x00ffffff;
      st.global.b32 [%rd3], %r21;
      bra done;
    producer:
      setp.ne.u32 %p2, %r0, 40;
      @%p2 bra done;
      mov.u32 %r22, 0;
    late:
      add.u32 %r22, %r22, 1;
      setp.lt.u32 %p2, %r22, 200000;
      @%p2 bra late;
      st.shared.b32 [%r10+16], 7;
      mbarrier.arrive.shared::cta.b64 _, [%r10];
    done:`,
  );

  it.each([false, true])('meet it in a shuffle behind the wait, watched: %s', async (findRaces) => {
    const contents = await outputOf(device, kernel, {
      ...launch(),
      options: { findRaces },
    });
    expect([...new Int32Array(contents.buffer, contents.byteOffset, 24)]).toEqual(new Array(24).fill(7));
  });
});

describe('mistakes', () => {
  it.each([
    [
      'an arrival too many',
      2,
      'mbarrier.arrive.shared::cta.b64 _, [%r10], 3;',
      /3 arrive where phase 0 waits for 2 more of 2/,
    ],
    [
      'no mbarrier',
      1,
      'mbarrier.arrive.shared::cta.b64 _, [%r10+8];',
      /shared address 8: no mbarrier was initialised there/,
    ],
    [
      'an invalidated one',
      1,
      'mbarrier.inval.shared::cta.b64 [%r10]; mbarrier.arrive.shared::cta.b64 _, [%r10];',
      /no mbarrier was initialised/,
    ],
    [
      'a store to it',
      1,
      'st.shared.b32 [%r10+4], 7; mbarrier.arrive.shared::cta.b64 _, [%r10];',
      /another instruction has written to the mbarrier/,
    ],
    ['a count of 0', 1, 'mbarrier.init.shared::cta.b64 [%r10+8], 0;', /its count is 0, not 1 to 1048575/],
    ['an odd address', 1, 'mbarrier.init.shared::cta.b64 [%r10+4], 1;', /misaligned 8-byte shared write/],
  ])('%s is unsafe', async (_, count, instructions, message) => {
    const refusal = await refusalOf(device, withBarrier(count, byThread0(instructions)), launch());
    expect(refusal).toMatch(/^unsafe: kernel: /);
    expect(refusal).toMatch(message);
  });

  it('two waits for each other are told, with who waits for what', async () => {
    const refusal = await refusalOf(device, withBarrier(64, waitFor('%r10', 0, 'again')), launch());
    expect(refusal).toMatch(
      /no thread can go on: thread \(\d+, 0, 0\) waits for phase 0 of the mbarrier at shared address 0, which lacks 64 of 64 arrivals/,
    );
  });

  it('a loop of test_wait ends, too', async () => {
    const body = waitFor('%r10', 0, 'again').replace('try_wait', 'test_wait');
    expect(await refusalOf(device, withBarrier(2, body), launch())).toMatch(
      /no thread can go on: .*lacks 2 of 2 arrivals/,
    );
  });
});

describe('bulk copies', () => {
  const fetch = (wait: string, afterwards = ''): HopperKernel =>
    withBarrier(
      1,
      `
      ld.param.u64 %rd5, [in];
      cvta.to.global.u64 %rd5, %rd5;
      ${byThread0(`
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 64;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10+128], [%rd5+32], 64, [%r10];`)}
      ${wait}
      ${storeShared(64, 128, 64)}
      ${afterwards}`,
    );
  const input = Array.from({ length: 64 }, (_, i) => i + 32);

  it('arrive at the wait', async () => {
    const contents = await outputOf(device, fetch(waitFor('%r10', 0, 'again')), launch());
    expect([...contents.subarray(0, 64)]).toEqual(input);
  });

  it('do not arrive without one, and the checker says which accesses race', async () => {
    const contents = await outputOf(device, fetch('', waitFor('%r10', 0, 'again')), launch());
    expect([...contents.subarray(0, 64)]).not.toEqual(input);
    expect(await refusalOf(device, fetch(''), launch())).toMatch(/the CTA ends while bytes are on their way/);
    // A barrier of the CTA is no wait for a copy: here the second warp waits, and the first reads.
    const others = `
      mov.u32 %r0, %tid.x;
      setp.lt.u32 %p2, %r0, 32;
      @%p2 bra later;
      ${waitFor('%r10', 0, 'again')}
      bra.uni all;
    later:
      nanosleep.u32 20;
    all:`;
    const launched = { ...launch(), options: { findRaces: true, orderSeed: 0 } };
    expect(await refusalOf(device, fetch(others), launched)).toMatch(
      /^unsafe: .*race: a shared (read|write) of \d+ bytes and a (read|write)/,
    );
    expect(await refusalOf(device, fetch(waitFor('%r10', 0, 'again')), launched)).toBe('passed');
  });

  const send = (end: string): HopperKernel =>
    withBarrier(
      1,
      `
      mov.u32 %r0, %tid.x;
      shl.b32 %r1, %r0, 2;
      add.u32 %r1, %r1, %r10;
      st.shared.b32 [%r1+128], %r0;
      fence.proxy.async.shared::cta;
      bar.sync 0;
      ${byThread0(`
      cp.async.bulk.global.shared::cta.bulk_group [%rd30], [%r10+128], 256;
      cp.async.bulk.commit_group;
      ${end}`)}`,
    );

  it('go out to device memory', async () => {
    const contents = await outputOf(device, send('cp.async.bulk.wait_group 0;'), launch());
    expect([...new Int32Array(contents.buffer, contents.byteOffset, 64)]).toEqual(
      Array.from({ length: 64 }, (_, i) => i),
    );
  });

  it('need a fence.proxy.async behind the stores that they read', async () => {
    const watched = { ...launch(), options: { findRaces: true } };
    const good = send('cp.async.bulk.wait_group 0;');
    expect(await refusalOf(device, good, watched)).toBe('passed');
    const without = { ...good, body: good.body.replace('fence.proxy.async.shared::cta;', '') };
    expect(await refusalOf(device, without, watched)).toMatch(
      /^unsafe: .*cp.async.bulk.global.shared::cta.bulk_group may read what lay in shared memory before the write of thread .*no fence.proxy.async is between them/,
    );
    const early = {
      ...without,
      body: without.body.replace('st.shared.b32 [%r1', 'fence.proxy.async; st.shared.b32 [%r1'),
    };
    expect(await refusalOf(device, early, watched)).toMatch(/no fence.proxy.async is between them/);
  });

  it('read what is there when their thread waits, and must be waited for', async () => {
    const overwritten = 'st.shared.b32 [%r10+128], 99; cp.async.bulk.wait_group.read 0;';
    const contents = await outputOf(device, send(overwritten), launch());
    expect(new Int32Array(contents.buffer, contents.byteOffset, 1)[0]).toBe(99);
    expect(await refusalOf(device, send(''), launch())).toMatch(
      /^unsafe: .*the CTA ends while a bulk copy may still read its shared memory/,
    );
  });

  it('must be waited for behind a group of none, too', async () => {
    const sent = send('');
    const body = sent.body.replace('cp.async.bulk.global', 'cp.async.bulk.commit_group; cp.async.bulk.global');
    expect(body).not.toBe(sent.body);
    expect(await refusalOf(device, { ...sent, body }, launch())).toMatch(
      /^unsafe: .*the CTA ends while a bulk copy may still read its shared memory/,
    );
  });

  it.each([
    ['add.f32', Float32Array, (a: number, b: number) => a + b],
    ['add.u64', BigUint64Array, (a: bigint, b: bigint) => a + b],
    ['min.s32', Int32Array, Math.min],
    ['xor.b32', Uint32Array, (a: number, b: number) => (a ^ b) >>> 0],
    ['add.noftz.f16', Uint16Array, undefined],
  ] as const)('are combined with what lies in device memory: %s', async (operation, Words, combine) => {
    const reduce: HopperKernel = withBarrier(
      1,
      `
      ld.param.u64 %rd5, [in];
      cvta.to.global.u64 %rd5, %rd5;
      ${byThread0(`
      ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd5];
      st.shared.v4.b32 [%r10+128], {%r20, %r21, %r22, %r23};
      fence.proxy.async.shared::cta;
      cp.reduce.async.bulk.global.shared::cta.bulk_group.${operation} [%rd30], [%r10+128], 16;
      cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;`)}`,
    );
    const bytes = (first: number): Uint8Array => {
      const words = new Words(16 / Words.BYTES_PER_ELEMENT);
      for (let i = 0; i < words.length; i++)
        words[i] = (words instanceof BigUint64Array ? BigInt(first + i) : first + i) as never;
      return new Uint8Array(words.buffer);
    };
    // Halves: 2, 3 and 8 are 0x4000, 0x4200 and 0x4800.
    const [left, right] = combine
      ? [bytes(7), bytes(2)]
      : [0x4000, 0x4200].map((half) => new Uint8Array(new Uint16Array(8).fill(half).buffer));
    const launched: KernelLaunch = { grid: 2, arguments: ['out', 'in'], buffers: { out: left!, in: right! } };
    const outcome = await outputOf(device, reduce, launched);
    const words = [...new Words(outcome.buffer as ArrayBuffer)];
    if (!combine) expect(words).toEqual(new Array(8).fill(0x4800));
    else {
      const apply = combine as (a: unknown, b: unknown) => unknown;
      const [a, b] = [[...new Words(left!.buffer as ArrayBuffer)], [...new Words(right!.buffer as ArrayBuffer)]];
      // Two CTAs.
      expect(words).toEqual(a.map((value, i) => apply(apply(value, b[i]), b[i])));
    }
    const watched = { ...launched, options: { findRaces: true } };
    expect(await refusalOf(device, reduce, watched)).toBe('passed');
  });

  it('name reductions that virtual GPUs lack', async () => {
    const kernel = send('cp.async.bulk.wait_group 0;');
    const text = kernel.body.replace(
      'cp.async.bulk.global.shared::cta.bulk_group',
      'cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32',
    );
    expect(await refusalOf(device, { ...kernel, body: text }, launch()).catch(String)).toMatch(
      /unsupported: .*cp\.reduce\.async\.bulk/,
    );
  });

  it.each([
    ['of 24 bytes', '64, [%r10];', '24, [%r10];', /a bulk copy of 24 bytes, not a multiple of 16/],
    ['to an odd place', '[%r10+128]', '[%r10+132]', /a bulk copy at shared address 132, not a multiple of 16/],
    ['beyond the buffer', '64, [%r10];', '4096, [%r10];', /out-of-bounds global read .*offset 32 of buffer in/],
    ['beyond shared memory', '64, [%r10];', '131072, [%r10];', /out-of-bounds shared/],
  ])('%s are unsafe', async (_, from, to, message) => {
    const kernel = fetch(waitFor('%r10', 0, 'again'));
    expect(await refusalOf(device, { ...kernel, body: kernel.body.replace(from, to) }, launch())).toMatch(message);
  });
});

describe('cp.async', () => {
  // Every thread copies four bytes and arrives when they have come. The second warp waits for the first one's, too.
  const copying = (count: number, arrive: string, wait: string): HopperKernel =>
    withBarrier(
      count,
      `
      mov.u32 %r0, %tid.x;
      shl.b32 %r1, %r0, 2;
      cvt.u64.u32 %rd6, %r1;
      ld.param.u64 %rd5, [in];
      cvta.to.global.u64 %rd5, %rd5;
      add.u64 %rd5, %rd5, %rd6;
      add.u32 %r2, %r10, %r1;
      cp.async.ca.shared.global [%r2+128], [%rd5], 4;
      ${arrive}
      ${wait}
      ${storeShared(256, 128, 64)}`,
    );
  const wait = waitFor('%r10', 0, 'again');
  const noIncrement = 'cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r10];';
  const input = Array.from({ length: 256 }, (_, i) => i);

  it('counts as an arrival at an mbarrier when the copies of a thread have come', async () => {
    for (const options of [{}, { findRaces: true }, { orderSeed: 3 }]) {
      const contents = await outputOf(device, copying(64, noIncrement, wait), { ...launch(), options });
      expect([...contents.subarray(0, 256)]).toEqual(input);
    }
    const without = await outputOf(device, copying(64, noIncrement, ''), launch());
    expect([...without.subarray(0, 256)]).not.toEqual(input);
  });

  it('awaits one arrival more for each thread without .noinc', async () => {
    const increment = 'cp.async.mbarrier.arrive.shared::cta.b64 [%r10];';
    const arrive = 'bar.sync 1; mbarrier.arrive.shared::cta.b64 %rd1, [%r10];';
    const contents = await outputOf(device, copying(64, increment + arrive, wait), launch());
    expect([...contents.subarray(0, 256)]).toEqual(input);
    expect(await refusalOf(device, copying(64, increment, wait), launch())).toMatch(/lacks 64 of 64 arrivals/);
  });
});

describe('setmaxnreg', () => {
  // 512 threads: 65536 / 512 = 128 registers each. The first two warpgroups give, the others take.
  const split = (decrease: number, increase: number): HopperKernel =>
    withBarrier(
      1,
      `
      mov.u32 %r0, %tid.x;
      setp.lt.u32 %p2, %r0, 256;
      @%p2 bra gives;
      setmaxnreg.inc.sync.aligned.u32 ${increase};
      bra.uni all;
    gives:
      setmaxnreg.dec.sync.aligned.u32 ${decrease};
    all:`,
      512,
    );

  it('takes what others gave, and no more', async () => {
    expect(await refusalOf(device, split(24, 232), launch())).toBe('passed');
    expect(await refusalOf(device, split(40, 224), launch())).toMatch(
      /^unsafe: .*setmaxnreg.inc.sync.aligned.u32 waits for ever: warp \d+ has 128 registers per thread and asks for 224, and \d+ are left/,
    );
    expect(await refusalOf(device, split(20, 128), launch())).toMatch(
      /takes 24 to 256 registers, a multiple of 8, not 20/,
    );
    expect(await refusalOf(device, split(136, 128), launch())).toMatch(
      /asks for 136 registers per thread where the warp has 128/,
    );
  });
});
