import type { Dim3 } from '../../../src/core/launch-plan.ts';
import { createStream } from '../../../src/stats/random.ts';
import { byThread0, kernelText, MAP_PARAMETER, POINTER, tensorMap } from '../hopper/ptx.ts';
import { drawBits, drawerOf } from './draw-floats.ts';
import type { RecordedCase } from './recorded-case.ts';
import { waitBriefly } from './wait-briefly.ts';

const THREADS = 32;
/** Words of `out` for a thread. */
const WORDS = 8;
const CTA_BYTES = THREADS * WORDS * 4;
/** The mbarrier lies behind the words of shared memory. */
const BARRIER = 1024;
const SHARED_BYTES = BARRIER + 16;

/**
 * `%r0`: thread; `%r1`: rank; `%r2`: CTAs of the cluster; `%r3`: CTA of the grid; `%r10`: shared memory; `%r11`: the thread's 16 bytes
 * of it, in which its words of `in` lie; `%r12`: the mbarrier, of one arrival; `%rd30`: the thread's words of `out`;
 * `%r20`: the rank of the next CTA; `%r21`, `%r22`: the thread's bytes and the mbarrier there.
 */
const PRELUDE = `
  mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank;
  mov.u32 %r3, %ctaid.y; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %ctaid.x; mad.lo.u32 %r3, %r3, %r4, %r5;
  mad.lo.u32 %r6, %r3, ${THREADS}, %r0;
  ld.param.u64 %rd30, [out]; cvta.to.global.u64 %rd30, %rd30; mad.wide.u32 %rd30, %r6, ${WORDS * 4}, %rd30;
  ld.param.u64 %rd20, [in]; cvta.to.global.u64 %rd20, %rd20; mad.wide.u32 %rd21, %r6, 16, %rd20;
  mov.u32 %r10, smem; shl.b32 %r7, %r0, 4; add.u32 %r11, %r10, %r7; add.u32 %r12, %r10, ${BARRIER};
  ld.global.v4.b32 {%r30, %r31, %r32, %r33}, [%rd21];
  st.shared.v4.b32 [%r11], {%r30, %r31, %r32, %r33};
  ${byThread0('mbarrier.init.shared::cta.b64 [%r12], 1; fence.mbarrier_init.release.cluster;', 'initialised')}
  fence.proxy.async;
  add.u32 %r20, %r1, 1; rem.u32 %r20, %r20, %r2;
  mapa.shared::cluster.u32 %r21, %r11, %r20; mapa.shared::cluster.u32 %r22, %r12, %r20;`;

const MEET = 'barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;';
const storeWords = (registers: readonly string[]): string =>
  registers.map((register, i) => `st.global.b32 [%rd30+${i * 4}], ${register};`).join(' ');
const SHOW_SHARED = `ld.shared.v4.b32 {%r40, %r41, %r42, %r43}, [%r11]; ${storeWords(['%r40', '%r41', '%r42', '%r43'])}`;
const announce = (bytes: number | string): string =>
  byThread0(`mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], ${bytes};`, 'expected');

interface Clustered {
  readonly name: string;
  readonly body: string;
  readonly grid?: Dim3;
  readonly cluster?: Dim3;
  /** A map of 16 × 16 words of `in`, the parameter `map`. */
  readonly takesMap?: boolean;
}

function caseOf({ name, body, grid = [8, 1, 1], cluster = [4, 1, 1], takesMap = false }: Clustered): RecordedCase {
  const ctas = grid[0] * grid[1];
  const map = tensorMap({ dtype: 'i32', globalDim: [16, 16], boxDim: [8, 4] }, 4);
  return {
    name: `cluster, ${name}`,
    family: 'clusters',
    ptx: kernelText({
      parameters: [POINTER('in'), POINTER('out'), ...(takesMap ? [MAP_PARAMETER('map')] : [])],
      threads: THREADS,
      body: `${PRELUDE}
  ${MEET}
  ${body}
  ${MEET}`,
    }),
    buffers: () => ({
      in: drawBits(ctas * THREADS * 16, drawerOf(createStream('recorded cluster'))),
      out: ctas * CTA_BYTES,
    }),
    launches: [
      {
        ...{ grid, cluster, block: THREADS, dynamicSharedBytes: SHARED_BYTES },
        arguments: ['in', 'out', ...(takesMap ? [map] : [])],
      },
    ],
    parts: Array.from({ length: ctas }, (_, cta) => ({ name: `CTA ${cta}`, bytes: CTA_BYTES })),
    shownBytes: 256,
  };
}

const SPECIAL_REGISTERS = [
  ['%cluster_ctarank', '%cluster_nctarank', '%cluster_ctaid.x', '%cluster_ctaid.y'],
  ['%clusterid.x', '%clusterid.y', '%nclusterid.x', '%cluster_nctaid.y'],
].flat();

const moved = SPECIAL_REGISTERS.map((name, i) => `mov.u32 %r${40 + i}, ${name};`).join(' ');
const SHAPES: readonly (readonly [grid: Dim3, cluster: Dim3])[] = [
  [
    [4, 1, 1],
    [1, 1, 1],
  ],
  [
    [8, 1, 1],
    [2, 1, 1],
  ],
  [
    [4, 4, 1],
    [2, 2, 1],
  ],
  [
    [4, 4, 1],
    [1, 4, 1],
  ],
  [
    [8, 1, 1],
    [8, 1, 1],
  ],
];

const COMPLETES = 'mbarrier::complete_tx::bytes';

export const CLUSTER_CASES: readonly RecordedCase[] = [
  ...SHAPES.map(([grid, cluster]) =>
    caseOf({
      name: `special registers of ${cluster.join(' × ')} in ${grid.join(' × ')}`,
      ...{ grid, cluster },
      body: `${moved} ${storeWords(SPECIAL_REGISTERS.map((_, i) => `%r${40 + i}`))}`,
    }),
  ),
  caseOf({
    name: 'loads from the next CTA',
    body: `ld.shared::cluster.v4.b32 {%r40, %r41, %r42, %r43}, [%r21]; ld.shared::cluster.u8 %r44, [%r21+5];
  ld.shared::cluster.s16 %r45, [%r21+6]; getctarank.shared::cluster.u32 %r46, %r21;
  cvt.u64.u32 %rd1, %r11; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r20; ld.b32 %r47, [%rd2+8];
  ${storeWords(['%r40', '%r41', '%r42', '%r43', '%r44', '%r45', '%r46', '%r47'])}`,
  }),
  caseOf({
    name: 'addresses hold ranks',
    // Of the own words, those of the next CTA, the own by mapa, as generic addresses; and what getctarank says.
    body: `mapa.shared::cluster.u32 %r23, %r11, %r1; sub.u32 %r47, %r23, %r11;
  cvt.u64.u32 %rd1, %r11; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r20; cvt.u32.u64 %r43, %rd1; cvt.u32.u64 %r44, %rd2;
  shr.u32 %r40, %r11, 24; shr.u32 %r41, %r21, 24; shr.u32 %r43, %r43, 24; shr.u32 %r44, %r44, 24;
  getctarank.shared::cluster.u32 %r42, %r11;
  ${storeWords(['%r40', '%r41', '%r42', '%r43', '%r44', '%r47'])}`,
  }),
  caseOf({
    name: 'stores to the next CTA',
    body: `not.b32 %r30, %r30; st.shared::cluster.b32 [%r21], %r30; st.shared::cluster.v2.b32 [%r21+8], {%r31, %r30};
  ${MEET} ${SHOW_SHARED}`,
  }),
  caseOf({
    name: 'atomics at the first CTA',
    body: `mov.u32 %r24, 0; mapa.shared::cluster.u32 %r23, %r11, %r24;
  red.relaxed.cluster.shared::cluster.add.u32 [%r23], %r30; red.relaxed.cluster.shared::cluster.max.s32 [%r23+4], %r31;
  red.relaxed.cluster.shared::cluster.xor.b32 [%r23+8], %r32; red.relaxed.cluster.shared::cluster.min.u32 [%r23+12], %r33;
  ${MEET} ${SHOW_SHARED}`,
  }),
  ...(
    [
      ['b32', '%r30', 4],
      ['u64', '%rd5', 8],
      ['v2.b32', '{%r30, %r31}', 8],
      ['v4.b32', '{%r33, %r32, %r31, %r30}', 16],
      ['v2.u64', '{%rd5, %rd6}', 16],
    ] as const
  ).map(([type, values, bytes]) =>
    caseOf({
      name: `st.async.${type} to the next CTA`,
      body: `mov.b64 %rd5, {%r31, %r30}; mov.b64 %rd6, {%r30, %r32}; ${announce(bytes * THREADS)} ${MEET}
  st.async.weak.shared::cluster.${COMPLETES}.${type} [%r21], ${values}, [%r22];
  ${waitBriefly('%r12', 'again')} ${SHOW_SHARED}`,
    }),
  ),
  caseOf({
    name: 'bulk copy to the next CTA',
    body: `${announce(256)} ${MEET}
  ${byThread0(`cp.async.bulk.shared::cluster.shared::cta.${COMPLETES} [%r21+256], [%r10], 256, [%r22];`, 'sent')}
  ${waitBriefly('%r12', 'again')} ${SHOW_SHARED}`,
  }),
  caseOf({
    name: 'arrivals at the next CTA',
    body: `${byThread0('mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r22];', 'arrived')}
  ${waitBriefly('%r12', 'again')} selp.u32 %r40, 1, 0, %p5; ${storeWords(['%r40'])}`,
  }),
  ...['0x5', '0xf', '0x8'].map((mask) =>
    caseOf({
      name: `bulk copy from device memory to CTAs ${mask}`,
      body: `.reg .b16 %mask; shr.u32 %r50, ${mask}, %r1; and.b32 %r50, %r50, 1; mul.lo.u32 %r50, %r50, 128; ${announce('%r50')}
  ${MEET} mov.b16 %mask, ${mask}; setp.ne.u32 %p4, %r1, 0; @%p4 bra sent;
  ${byThread0(`cp.async.bulk.shared::cluster.global.${COMPLETES}.multicast::cluster [%r10+64], [%rd20+32], 128, [%r12], %mask;`, 'sent')}
  ${waitBriefly('%r12', 'again')} ${SHOW_SHARED}`,
    }),
  ),
  ...['0x3', '0xe'].map((mask) =>
    caseOf({
      name: `tensor copy to CTAs ${mask}`,
      takesMap: true,
      body: `.reg .b16 %mask; shr.u32 %r50, ${mask}, %r1; and.b32 %r50, %r50, 1; mul.lo.u32 %r50, %r50, 128; ${announce('%r50')}
  ${MEET} mov.b16 %mask, ${mask}; mov.b64 %rd1, map; cvta.param.u64 %rd2, %rd1; setp.ne.u32 %p4, %r1, 0; @%p4 bra sent;
  ${byThread0(`cp.async.bulk.tensor.2d.shared::cluster.global.tile.${COMPLETES}.multicast::cluster [%r10+128], [%rd2, {4, 14}], [%r12], %mask;`, 'sent')}
  ${waitBriefly('%r12', 'again')} ${SHOW_SHARED}`,
    }),
  ),
];
