import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { type KernelLaunch, launchCode, launchKernel, loadCode, words } from '../../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../../support/launch/ptx-text.ts';

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});

afterAll(() => device.close());

/** Runs a body that leaves its result in %r1 (with the thread's number in %r0) and gives all results. */
async function results(body: string, launch: KernelLaunch = {}, variables = ''): Promise<number[]> {
  const text = moduleText(
    variables,
    entry({
      parameters: ['u64 out'],
      body: `mov.u32 %r0, %tid.x; ${body}
        mul.wide.u32 %d0, %r0, 4; add.u64 %d1, %out, %d0; st.global.u32 [%d1], %r1;`,
    }),
  );
  const block = typeof launch.block === 'number' ? launch.block : 32;
  const { contents } = await launchCode(device, text, {
    ...launch,
    block,
    arguments: ['out'],
    buffers: { out: block * 4 },
  });
  return [...words(contents.out!)];
}

const lanes = <T>(value: (lane: number) => T, count = 32): T[] => Array.from({ length: count }, (_, i) => value(i));
const bitsWhere = (holds: (lane: number) => boolean): number =>
  lanes(holds).reduce((bits, set, lane) => (set ? bits | (1 << lane) : bits), 0) >>> 0;

describe('reconvergence', () => {
  it('brings lanes that continue a loop back to the others before its next round', async () => {
    // for (i = 1; i <= 8; i++) { if ((tid + i) % 2 == 0) continue; sum += i; }
    const body = `mov.u32 %r1, 0; mov.u32 %r2, 0;
      NEXT: setp.ge.u32 %p0, %r2, 8; @%p0 bra DONE; add.u32 %r2, %r2, 1;
      add.u32 %r3, %r0, %r2; and.b32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra NEXT;
      add.u32 %r1, %r1, %r2; bra NEXT;
      DONE:`;
    expect(await results(body)).toEqual(lanes((tid) => (tid % 2 === 0 ? 1 + 3 + 5 + 7 : 2 + 4 + 6 + 8)));
  });

  it('lets lanes leave nested loops at different rounds', async () => {
    // for (i = 0; ; i++) for (j = 0; j < 3; j++) if (i * 3 + j == tid) { r = 100 i + j; goto done; }
    const body = `mov.u32 %r2, 0;
      OUTER: mov.u32 %r3, 0;
      INNER: mad.lo.u32 %r4, %r2, 3, %r3; setp.eq.u32 %p0, %r4, %r0; @%p0 bra DONE;
      add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 3; @%p1 bra INNER;
      add.u32 %r2, %r2, 1; bra OUTER;
      DONE: mad.lo.u32 %r1, %r2, 100, %r3;`;
    expect(await results(body)).toEqual(lanes((tid) => 100 * Math.floor(tid / 3) + (tid % 3)));
  });

  it('takes every way through a jump table that clang makes of a switch', async () => {
    const source = `extern "C" __global__ void choose(unsigned *out) {
      unsigned t = threadIdx.x, r;
      switch (t % 9) {
        case 0: r = t * 3; break;
        case 1: r = t + 100;
        case 2: r = t ^ 5; break;
        case 3: r = t * t; break;
        case 4: r = 7; break;
        case 5: r = t / 2; break;
        case 6: r = ~t; break;
        default: r = 1000 + t;
      }
      out[t] = r;
    }`;
    const code = await compileCuda(await createClangToolchain(), source, functionsIn(source));
    expect(code.text).toContain('brx.idx');
    const { contents, counters } = await launchCode(device, code, {
      functionName: 'choose',
      block: 48,
      arguments: ['out'],
      buffers: { out: 48 * 4 },
      options: { count: true },
    });
    const ways = [
      (t: number) => t * 3,
      (t: number) => t ^ 5,
      (t: number) => t ^ 5,
      (t: number) => t * t,
      () => 7,
      (t: number) => t >> 1,
      (t: number) => ~t >>> 0,
    ];
    expect([...words(contents.out!)]).toEqual(lanes((t) => ways[t % 9]?.(t) ?? 1000 + t, 48));
    // Lanes part at the table, in both warps.
    expect(counters.divergentBranches).toBeGreaterThanOrEqual(2);
  });
});

describe('warp-wide instructions where lanes have parted', () => {
  /** Odd lanes run `odd`, even lanes `even`. */
  const parted = (even: string, odd: string) => `
    and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 1; @%p0 bra ODD;
    ${even} bra JOIN;
    ODD: ${odd}
    JOIN:`;

  it('ballot and activemask see the lanes of their branch', async () => {
    const body = parted('setp.lt.u32 %p1, %r0, 10; vote.sync.ballot.b32 %r1, %p1, 0x55555555;', 'activemask.b32 %r1;');
    const even = bitsWhere((lane) => lane % 2 === 0 && lane < 10);
    expect(await results(body)).toEqual(lanes((lane) => (lane % 2 === 0 ? even : 0xaaaaaaaa)));
  });

  it('any and all are over the lanes named by the mask', async () => {
    const votes = (mask: string) => `setp.ne.u32 %p1, %r0, 6;
      vote.sync.all.pred %p2, %p1, ${mask}; vote.sync.any.pred %p3, %p1, ${mask};
      selp.u32 %r1, 1, 0, %p2; selp.u32 %r3, 2, 0, %p3; or.b32 %r1, %r1, %r3;`;
    // Lane 6 is even: "all" fails there only.
    expect(await results(parted(votes('0x55555555'), votes('0xaaaaaaaa')))).toEqual(
      lanes((lane) => (lane % 2 === 0 ? 2 : 3)),
    );
  });

  it('shuffles exchange within the branch', async () => {
    const body = parted(
      'shfl.sync.bfly.b32 %r1, %r0, 2, 31, 0x55555555;',
      'shfl.sync.idx.b32 %r1, %r0, 5, 31, 0xaaaaaaaa;',
    );
    expect(await results(body)).toEqual(lanes((lane) => (lane % 2 === 0 ? lane ^ 2 : 5)));
  });

  it('shuffles, matches and reductions with lanes switched off by a guard', async () => {
    const body = `setp.lt.u32 %p0, %r0, 16; mov.u32 %r1, 99; and.b32 %r3, %r0, 3;
      @%p0 redux.sync.add.u32 %r1, %r0, 0xffff;
      @!%p0 match.any.sync.b32 %r1, %r3, 0xffff0000;`;
    expect(await results(body)).toEqual(
      lanes((lane) => (lane < 16 ? 120 : bitsWhere((other) => other >= 16 && other % 4 === lane % 4))),
    );
  });

  it('waits for all lanes at a full shuffle that they reach from different sides', async () => {
    // Each side adds something else first; then one butterfly over the whole warp.
    const body = `${parted('mul.lo.u32 %r4, %r0, 3;', 'add.u32 %r4, %r0, 1000;')}
      shfl.sync.bfly.b32 %r1, %r4, 1, 31, 0xffffffff;`;
    const value = (lane: number) => (lane % 2 === 0 ? lane * 3 : lane + 1000);
    expect(await results(body)).toEqual(lanes((lane) => value(lane ^ 1)));
  });

  it('orders shared memory between lanes at a warp barrier inside a branch', async () => {
    const exchange = (mask: string) => `st.shared.u32 [%r5], %r0; bar.warp.sync ${mask};
      xor.b32 %r6, %r5, 8; ld.shared.u32 %r1, [%r6];`;
    const body = `shl.b32 %r5, %r0, 2; mov.u32 %r6, words; add.u32 %r5, %r5, %r6;
      ${parted(exchange('0x55555555'), exchange('0xaaaaaaaa'))}`;
    expect(await results(body, {}, '.shared .align 256 .b8 words[128];')).toEqual(lanes((lane) => lane ^ 2));
  });

  it('elects the lowest lane that is there', async () => {
    const body = parted('mov.u32 %r1, 0;', 'elect.sync %r3|%p1, 0xaaaaaaaa; selp.u32 %r1, 1, 0, %p1;');
    expect(await results(body)).toEqual(lanes((lane) => (lane === 1 ? 1 : 0)));
  });

  it('gives part of a warp its own results at the end of a block', async () => {
    // A block of 40: the second warp has 8 lanes.
    const body = 'activemask.b32 %r2; popc.b32 %r1, %r2;';
    expect(await results(body, { block: 40 })).toEqual(lanes((thread) => (thread < 32 ? 32 : 8), 40));
  });
});

describe('barriers', () => {
  it('a tree reduction over three warps, a barrier in every round', async () => {
    const source = `extern "C" __global__ void reduce(const int *in, int *out) {
      __shared__ int sums[96];
      int t = threadIdx.x;
      sums[t] = in[blockIdx.x * 96 + t];
      __syncthreads();
      for (int width = 48; width >= 3; width /= 2) {
        if (t < width) sums[t] += sums[t + width];
        __syncthreads();
      }
      if (t == 0) out[blockIdx.x] = sums[0] + sums[1] + sums[2];
    }`;
    const code = await compileCuda(await createClangToolchain(), source, functionsIn(source));
    const module = await loadCode(device, code);
    const input = Int32Array.from({ length: 4 * 96 }, (_, i) => (i * 37) % 101);
    const sums = [0, 1, 2, 3].map((cta) => input.slice(cta * 96, cta * 96 + 96).reduce((a, b) => a + b));
    for (const orderSeed of [0, 1, 2]) {
      const { contents } = await launchKernel(device, module, {
        functionName: 'reduce',
        grid: 4,
        block: 96,
        arguments: ['in', 'out'],
        buffers: { in: input, out: 16 },
        options: { orderSeed },
      });
      expect([...words(contents.out!)]).toEqual(sums);
    }
    await device.unload(module);
  });

  it('reduces a predicate over the CTA', async () => {
    const body = `setp.lt.u32 %p0, %r0, 40; barrier.red.popc.u32 %r1, 0, %p0;
      barrier.red.and.pred %p1, 0, %p0; barrier.red.or.pred %p2, 0, !%p0;
      selp.u32 %r2, 1000, 0, %p1; selp.u32 %r3, 2000, 0, %p2; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;`;
    expect(await results(body, { block: 64 })).toEqual(lanes(() => 2040, 64));
  });

  it('only the warps whose guard holds take part', async () => {
    // Warps 0 and 1 meet at barrier 1 of 64 threads; warp 2 does not.
    const body = `setp.lt.u32 %p0, %r0, 64; @%p0 bar.sync 1, 64; mov.u32 %r1, 5;`;
    expect(await results(body, { block: 96 })).toEqual(lanes(() => 5, 96));
  });

  it('producers arrive and go on, consumers wait for them', async () => {
    // Warp 1 writes and arrives; warp 0 waits, reads, and lets warp 1 write again.
    const body = `mov.u32 %r2, words; and.b32 %r3, %r0, 31; shl.b32 %r4, %r3, 2; add.u32 %r2, %r2, %r4;
      mov.u32 %r1, 0; setp.ge.u32 %p0, %r0, 32; mov.u32 %r6, 0; @%p0 bra PRODUCE;
      CONSUME: bar.sync 1, 64; ld.shared.u32 %r5, [%r2]; mad.lo.u32 %r1, %r1, 10, %r5; bar.arrive 2, 64;
      add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 3; @%p1 bra CONSUME; bra JOIN;
      PRODUCE: add.u32 %r6, %r6, 1; st.shared.u32 [%r2], %r6; bar.arrive 1, 64; bar.sync 2, 64;
      setp.lt.u32 %p1, %r6, 3; @%p1 bra PRODUCE;
      JOIN:`;
    const variables = '.shared .align 4 .b8 words[128];';
    for (const orderSeed of [0, 3, 4]) {
      const got = await results(body, { block: 64, options: { orderSeed } }, variables);
      expect(got).toEqual(lanes((thread) => (thread < 32 ? 123 : 0), 64));
    }
  });

  it('a warp spins on a flag in shared memory until another warp sets it', async () => {
    // Warp 0 runs first and spins: it must give way.
    const body = `setp.ne.u32 %p3, %r0, 0; @%p3 bra READY; mov.u32 %r2, 0; st.shared.u32 [flag], %r2;
      READY: bar.sync 0;
      mov.u32 %r1, 0; setp.ge.u32 %p0, %r0, 32; @%p0 bra SET;
      SPIN: add.u32 %r1, %r1, 0; ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p1, %r2, 0; @%p1 bra SPIN;
      mov.u32 %r1, %r2; bra JOIN;
      SET: setp.ne.u32 %p2, %r0, 33; @%p2 bra JOIN; mov.u32 %r2, 77; st.volatile.shared.u32 [flag], %r2;
      JOIN:`;
    const variables = '.shared .align 4 .u32 flag;';
    expect(await results(body, { block: 64 }, variables)).toEqual(lanes((thread) => (thread < 32 ? 77 : 0), 64));
  });
});

describe('clocks and places', () => {
  it('a clock counts the instructions of the warp: the same on every run', async () => {
    // Between the readings: 7 rounds of 3 instructions, a mov, and the second reading itself.
    const body = `mov.u32 %r2, %clock; mov.u32 %r3, 0;
      SPIN: add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, 7; @%p0 bra SPIN;
      mov.u32 %r4, %clock; sub.u32 %r1, %r4, %r2;`;
    expect(await results(body)).toEqual(lanes(() => 7 * 3 + 1 + 1));
    const wide = body
      .replaceAll('mov.u32 %r2, %clock;', 'mov.u64 %d2, %clock64;')
      .replaceAll('mov.u32 %r4, %clock;', 'mov.u64 %d4, %globaltimer;')
      .replaceAll('sub.u32 %r1, %r4, %r2;', 'sub.u64 %d4, %d4, %d2; cvt.u32.u64 %r1, %d4;');
    expect(await results(wide)).toEqual(lanes(() => 7 * 3 + 1 + 1));
  });

  it('a wait for the clock ends', async () => {
    const body = `mov.u32 %r2, %clock; SPIN: mov.u32 %r3, %clock; sub.u32 %r1, %r3, %r2;
      setp.lt.u32 %p0, %r1, 500; @%p0 bra SPIN; mov.u32 %r1, 1;`;
    expect(await results(body)).toEqual(lanes(() => 1));
  });

  it('CTAs are spread over the multiprocessors of the device', async () => {
    const text = moduleText(
      entry({
        parameters: ['u64 out'],
        body: `mov.u32 %r0, %ctaid.x; mov.u32 %r1, %smid; mov.u32 %r2, %nsmid;
          mul.wide.u32 %d0, %r0, 8; add.u64 %d1, %out, %d0; st.global.v2.u32 [%d1], {%r1, %r2};`,
      }),
    );
    const launch = { grid: 60, block: 1, arguments: ['out'], buffers: { out: 480 } };
    const { contents } = await launchCode(device, text, launch);
    const sms = device.spec.smCount.value;
    expect([...words(contents.out!)]).toEqual(lanes((cta) => [cta % sms, sms], 60).flat());
  });
});

describe('negated predicate operands', () => {
  it('in logic, selections and comparisons', async () => {
    const body = `setp.lt.u32 %p0, %r0, 8; setp.lt.u32 %p1, %r0, 16;
      and.pred %p2, %p1, !%p0; selp.u32 %r1, 1, 0, %p2;
      setp.ge.and.u32 %p3, %r0, 4, !%p1; selp.u32 %r2, 2, 0, %p3; or.b32 %r1, %r1, %r2;`;
    expect(await results(body)).toEqual(lanes((lane) => (lane >= 8 && lane < 16 ? 1 : lane >= 16 ? 2 : 0)));
  });
});
