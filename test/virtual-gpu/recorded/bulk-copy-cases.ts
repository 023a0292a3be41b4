import { createStream } from '../../../src/stats/random.ts';
import { byThread0, kernelText, loadShared, POINTER, storeShared } from '../hopper/ptx.ts';
import { drawAddends, drawBits, drawerOf, type FloatName, isFloatName } from './draw-floats.ts';
import type { RecordedCase } from './recorded-case.ts';
import { waitBriefly } from './wait-briefly.ts';

const THREADS = 128;
const BYTES = 512;
/** The mbarrier lies behind two tiles. */
const BARRIER = 2 * BYTES;

const draw = (label: string, bytes = BYTES): Uint8Array =>
  drawBits(bytes, drawerOf(createStream('recorded bulk copy', label)));

/** Bits of the type, of which floats are near one another. */
const drawOf = (type: string, label: string): Uint8Array =>
  isFloatName(type)
    ? drawAddends(type as FloatName, 'specials', BYTES, drawerOf(createStream('recorded reduction', label)), 'f16')
    : draw(label);

interface Reduction {
  readonly operation: string;
  readonly type: string;
}

/** What may be combined. Source: PTX ISA, cp.reduce.async.bulk. */
const GLOBAL: readonly Reduction[] = [
  ...['u32', 's32', 'u64', 'f32', 'f64'].map((type) => ({ operation: 'add', type })),
  ...['f16', 'bf16'].map((type) => ({ operation: 'add.noftz', type })),
  ...['u32', 's32', 'u64', 's64', 'f16', 'bf16'].flatMap((type) => [
    { operation: 'min', type },
    { operation: 'max', type },
  ]),
  ...['inc', 'dec'].map((operation) => ({ operation, type: 'u32' })),
  ...['b32', 'b64'].flatMap((type) => ['and', 'or', 'xor'].map((operation) => ({ operation, type }))),
];
const SHARED: readonly Reduction[] = [
  ...['u32', 's32', 'u64'].map((type) => ({ operation: 'add', type })),
  ...['u32', 's32'].flatMap((type) => [
    { operation: 'min', type },
    { operation: 'max', type },
  ]),
  ...['inc', 'dec'].map((operation) => ({ operation, type: 'u32' })),
  ...['and', 'or', 'xor'].map((operation) => ({ operation, type: 'b32' })),
];

const UNSUPPORTED = /^unsupported: .*cp\.reduce\.async\.bulk/;

function reducing({ operation, type }: Reduction): RecordedCase {
  const name = `${operation} of ${type}`;
  return {
    name: `bulk reduction to device memory, ${name}`,
    family: 'bulk copies',
    ptx: kernelText({
      parameters: [POINTER('in'), POINTER('out')],
      body: `${loadShared(BYTES)}
  mov.u32 %r10, smem; ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;
  ${byThread0(`
  cp.reduce.async.bulk.global.shared::cta.bulk_group.${operation}.${type} [%rd1], [%r10], ${BYTES};
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;`)}`,
    }),
    buffers: () => ({ in: drawOf(type, `${name} in`), out: drawOf(type, `${name} out`) }),
    launches: [{ block: THREADS, dynamicSharedBytes: BYTES, arguments: ['in', 'out'] }],
    parts: [{ name: 'device memory', bytes: BYTES }],
  };
}

/** Both halves of shared memory come from `in`, and go to `out`. */
function withinCta(
  name: string,
  instruction: string,
  bytes: number,
  { cluster, ...marks }: Pick<RecordedCase, 'refusal' | 'mistake'> & { readonly cluster?: number } = {},
): RecordedCase {
  return {
    name,
    family: 'bulk copies',
    ptx: kernelText({
      parameters: [POINTER('in'), POINTER('out')],
      body: `${loadShared(2 * BYTES)}
  mov.u32 %r10, smem; add.u32 %r12, %r10, ${BYTES}; add.u32 %r11, %r10, ${BARRIER};
  ld.param.u64 %rd1, [in]; cvta.to.global.u64 %rd1, %rd1;
  ${byThread0(`
  mbarrier.init.shared::cta.b64 [%r11], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], ${bytes};
  ${instruction}`)}
  bar.sync 0;
  ${waitBriefly('%r11', 'again')}
  ${storeShared(2 * BYTES)}`,
    }),
    buffers: () => ({ in: draw('both halves', 2 * BYTES), out: 2 * BYTES }),
    launches: [
      { block: THREADS, dynamicSharedBytes: BARRIER + 16, arguments: ['in', 'out'], ...(cluster && { cluster }) },
    ],
    parts: [{ name: 'shared memory', bytes: 2 * BYTES }],
    ...marks,
  };
}

const MEET = 'barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;';

/**
 * The same in a cluster of two CTAs. `%r10`: the first half; `%r12`: the second half; `%r11`: the mbarrier, which waits for `bytes`;
 * `%r13`, `%r14`: the second half and the mbarrier of CTA `rank` of the cluster.
 */
function inCluster(
  name: string,
  { instruction, bytes, rank }: { instruction: string; bytes: number; rank: 'own' | 'other' },
  refusal?: RegExp,
): RecordedCase {
  return {
    name,
    family: 'bulk copies',
    ptx: kernelText({
      parameters: [POINTER('in'), POINTER('out')],
      body: `${loadShared(2 * BYTES)}
  mov.u32 %r10, smem; add.u32 %r12, %r10, ${BYTES}; add.u32 %r11, %r10, ${BARRIER};
  mov.u32 %r15, %cluster_ctarank; ${rank === 'other' ? 'xor.b32 %r15, %r15, 1;' : ''}
  mapa.shared::cluster.u32 %r13, %r12, %r15; mapa.shared::cluster.u32 %r14, %r11, %r15;
  ${byThread0(
    `
  mbarrier.init.shared::cta.b64 [%r11], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], ${bytes};`,
    'initialised',
  )}
  ${MEET}
  ${byThread0(instruction, 'sent')}
  ${waitBriefly('%r11', 'again')}
  ${storeShared(2 * BYTES)}
  ${MEET}`,
    }),
    buffers: () => ({ in: draw('both halves of two', 4 * BYTES), out: 4 * BYTES }),
    launches: [{ grid: 2, cluster: 2, block: THREADS, dynamicSharedBytes: BARRIER + 16, arguments: ['in', 'out'] }],
    parts: [0, 1].map((cta) => ({ name: `shared memory of CTA ${cta}`, bytes: 2 * BYTES })),
    ...(refusal && { refusal }),
  };
}

const WITHOUT_CLUSTER = {
  mistake: /^unsafe: .*sends to the shared memory of a cluster, but the launch has none:/,
} as const;

const COMPLETES = 'mbarrier::complete_tx::bytes';

/** What needs a cluster, from a CTA to itself. */
const WITHIN_A_CLUSTER = [
  {
    name: 'bulk copy from shared to shared memory',
    instruction: `cp.async.bulk.shared::cluster.shared::cta.${COMPLETES} [%r12], [%r10], 256, [%r11];`,
    bytes: 256,
  },
  {
    name: 'st.async to the own CTA',
    instruction: `mov.u32 %r20, 77; st.async.weak.shared::cluster.${COMPLETES}.b32 [%r12], %r20, [%r11];`,
    bytes: 4,
  },
] as const;

export const BULK_COPY_CASES: readonly RecordedCase[] = [
  ...[16, 48, 512].map((bytes) =>
    withinCta(
      `bulk copy of ${bytes} bytes from device memory`,
      `cp.async.bulk.shared::cluster.global.${COMPLETES} [%r12], [%rd1+16], ${bytes}, [%r11];`,
      bytes,
    ),
  ),
  ...WITHIN_A_CLUSTER.flatMap(({ name, instruction, bytes }) => [
    withinCta(name, instruction, bytes, WITHOUT_CLUSTER),
    withinCta(`${name}, in a cluster of one`, instruction, bytes, { cluster: 1 }),
  ]),
  inCluster('bulk copy from shared to shared memory of the own CTA', {
    instruction: `cp.async.bulk.shared::cluster.shared::cta.${COMPLETES} [%r12], [%r10], 256, [%r11];`,
    ...{ bytes: 256, rank: 'own' },
  }),
  inCluster('bulk copy from shared to shared memory of the own CTA, by its rank', {
    instruction: `cp.async.bulk.shared::cluster.shared::cta.${COMPLETES} [%r13], [%r10], 256, [%r14];`,
    ...{ bytes: 256, rank: 'own' },
  }),
  inCluster('bulk copy from shared to shared memory of the other CTA', {
    instruction: `cp.async.bulk.shared::cluster.shared::cta.${COMPLETES} [%r13], [%r10], 256, [%r14];`,
    ...{ bytes: 256, rank: 'other' },
  }),
  inCluster(
    'bulk reduction to shared memory of the own CTA, add of u32',
    {
      instruction: `cp.reduce.async.bulk.shared::cluster.shared::cta.${COMPLETES}.add.u32 [%r13], [%r10], ${BYTES}, [%r14];`,
      ...{ bytes: BYTES, rank: 'own' },
    },
    UNSUPPORTED,
  ),
  ...SHARED.map(({ operation, type }) =>
    inCluster(
      `bulk reduction to shared memory, ${operation} of ${type}`,
      {
        instruction: `cp.reduce.async.bulk.shared::cluster.shared::cta.${COMPLETES}.${operation}.${type} [%r13], [%r10], ${BYTES}, [%r14];`,
        ...{ bytes: BYTES, rank: 'other' },
      },
      UNSUPPORTED,
    ),
  ),
  ...GLOBAL.map(reducing),
];
