import { sizeOfDType } from '../../../src/core/dtype.ts';
import { createStream } from '../../../src/stats/random.ts';
import {
  byThread0,
  type HopperKernel,
  kernelText,
  loadShared,
  MAP_PARAMETER,
  POINTER,
  storeShared,
  type TensorMapArgument,
  tensorMap,
} from '../hopper/ptx.ts';
import { drawBits, drawerOf } from './draw-floats.ts';
import type { RecordedCase } from './recorded-case.ts';
import { waitBriefly } from './wait-briefly.ts';

type Map = Parameters<typeof tensorMap>[0];

const volume = (sizes: readonly number[]): number => sizes.reduce((product, size) => product * size, 1);
const THREADS = 128;
/** The mbarrier lies behind the tile. */
const BARRIER = 16_384;
const SHARED_BYTES = BARRIER + 16;
/** Behind a tile, what no copy may touch. */
const MARGIN_BYTES = 256;
const FILLED_WITH = '0xa5a5a5a5';

const sliceBytes = ({ interleave = 'none' }: Map): number => ({ '16B': 16, '32B': 32 })[interleave] ?? 0;

/** Of the axes of a box, what it holds along them. Along the innermost axis no element is left out; one slice is of an interleaved box. */
function countsOf(map: Map): number[] {
  const { boxDim, elementStrides = [] } = map;
  const isInterleaved = sliceBytes(map) > 0;
  return boxDim.map((size, axis) => {
    if (isInterleaved && axis === boxDim.length - 2) return 1;
    return Math.ceil(size / (axis === 0 && !isInterleaved ? 1 : (elementStrides[axis] ?? 1)));
  });
}
const boxBytes = (map: Map): number => volume(countsOf(map)) * (sliceBytes(map) || sizeOfDType(map.dtype));

const coordinates = (at: readonly number[]): string => `{${at.join(', ')}}`;
const draw = (bytes: number): Uint8Array => drawBits(bytes, drawerOf(createStream('recorded tensor')));

function argument(map: Map, buffer: string): TensorMapArgument {
  return tensorMap({ ...map, buffer }, sizeOfDType(map.dtype));
}
/** Bytes that a map reaches. */
const spanOf = ({ globalDim, globalStridesBytes, dtype }: TensorMapArgument): number => {
  const outermost = globalDim.length - 1;
  return outermost === 0
    ? globalDim[0]! * sizeOfDType(dtype as Map['dtype'])
    : globalDim[outermost]! * globalStridesBytes[outermost - 1]!;
};

/** Several boxes, one after the other: each is a CTA of its own. */
interface Copies extends Pick<RecordedCase, 'refusal' | 'mistake' | 'waitsFor'> {
  readonly name: string;
  readonly map: Map;
  readonly at: readonly (readonly number[])[];
}

const marksOf = ({ refusal, mistake, waitsFor }: Copies) => ({
  ...(refusal && { refusal }),
  ...(mistake && { mistake }),
  ...(waitsFor && { waitsFor }),
});

/** Puts each coordinate of the CTA's box into `%r20`, `%r21`, … */
function placesOf(at: readonly (readonly number[])[]): string {
  const axes = at[0]!.length;
  const choose = (axis: number): string =>
    at
      .map(
        (place, cta) => `setp.eq.u32 %p2, %r1, ${cta}; selp.b32 %r${20 + axis}, ${place[axis]}, %r${20 + axis}, %p2;`,
      )
      .join(' ');
  return `mov.u32 %r1, %ctaid.x; ${Array.from({ length: axes }, (_, axis) => `mov.u32 %r${20 + axis}, 0; ${choose(axis)}`).join('\n  ')}`;
}
const registersOf = (axes: number): string =>
  coordinates(Array.from({ length: axes }, (_, i) => i)).replaceAll(/\d+/g, (i) => `%r${20 + Number(i)}`);

/** What comes in may not be as many bytes as its box has elements: then the last word tells whether the mbarrier got `bytes`. */
interface Fetched extends Copies {
  readonly bytes?: number;
}

/** Waits for whatever more may land, then stores whether the phase is over behind what is shown. */
const tellWhetherOver = (at: number): string => `
  selp.b32 %r3, 1, 2, %p5;
  nanosleep.u32 100000;
  bar.sync 0;
  st.shared.b32 [%r10+${at}], %r3;
  bar.sync 0;`;

function fetching(copies: Fetched): RecordedCase {
  const { name, map, at } = copies;
  const axes = map.globalDim.length;
  const bytes = copies.bytes ?? boxBytes(map);
  const shown = bytes + MARGIN_BYTES;
  const kernel: HopperKernel = {
    parameters: [MAP_PARAMETER('map'), POINTER('out')],
    body: `
  mov.u32 %r10, smem;
  add.u32 %r11, %r10, ${BARRIER};
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ${placesOf(at)}
  mov.u32 %r0, %tid.x; shl.b32 %r2, %r0, 2; mov.u32 %r3, ${FILLED_WITH};
before:
  setp.ge.u32 %p3, %r2, ${shown};
  @%p3 bra filled;
  add.u32 %r4, %r10, %r2; st.shared.b32 [%r4], %r3; add.u32 %r2, %r2, ${THREADS * 4};
  bra before;
filled:
  fence.proxy.async;
  bar.sync 0;
  ${byThread0(`
  mbarrier.init.shared::cta.b64 [%r11], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], ${bytes};
  cp.async.bulk.tensor.${axes}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd2, ${registersOf(axes)}], [%r11];`)}
  bar.sync 0;
  ${waitBriefly('%r11', 'again')}${copies.bytes === undefined ? '' : tellWhetherOver(shown - 4)}
  ${storeShared(shown)}`,
  };
  const given = argument(map, 'in');
  return {
    name: `tensor to shared memory, ${name}`,
    family: 'tensor copies',
    ptx: kernelText(kernel),
    buffers: () => ({ in: draw(spanOf(given)), out: at.length * shown }),
    launches: [{ grid: at.length, block: THREADS, dynamicSharedBytes: SHARED_BYTES, arguments: [given, 'out'] }],
    parts: at.map((place) => ({ name: `box at ${place.join(' ')}`, bytes: shown })),
    shownBytes: 1024,
    ...marksOf(copies),
  };
}

/** How a tile goes out: as it is, or combined with what lies there. */
interface Sent extends Copies {
  readonly reduction?: string;
}

function sending(copies: Sent): RecordedCase {
  const { name, map, at, reduction } = copies;
  const axes = map.globalDim.length;
  const bytes = boxBytes(map);
  const opcode = reduction === undefined ? 'cp.async.bulk.tensor' : 'cp.reduce.async.bulk.tensor';
  const kernel: HopperKernel = {
    parameters: [MAP_PARAMETER('map'), POINTER('in')],
    body: `
  ${loadShared(bytes)}
  mov.u32 %r10, smem;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ${placesOf(at)}
  ${byThread0(`
  ${opcode}.${axes}d.global.shared::cta${reduction ?? ''}.tile.bulk_group [%rd2, ${registersOf(axes)}], [%r10];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;`)}`,
  };
  const given = argument(map, 'out');
  const span = spanOf(given);
  return {
    name: `shared memory to tensor, ${name}`,
    family: 'tensor copies',
    ptx: kernelText(kernel),
    buffers: () => ({ in: draw(bytes * at.length), out: draw(span) }),
    // One after the other, where boxes overlap the later counts.
    launches: [{ grid: at.length, block: THREADS, dynamicSharedBytes: SHARED_BYTES, arguments: [given, 'in'] }],
    parts: [{ name: 'tensor', bytes: span }],
    shownBytes: 1024,
    ...marksOf(copies),
  };
}

const DIMENSIONS = [12, 5, 4, 3, 3];
const BOX = [8, 3, 2, 2, 2];
const AXES = [1, 2, 3, 4, 5];
const SWIZZLES = [
  ['32B', 32],
  ['64B', 64],
  ['128B', 128],
] as const;

const reducing = (dtype: Map['dtype'], operation: string, marks: Pick<Copies, 'waitsFor'> = {}): RecordedCase =>
  sending({
    name: `${operation} of ${dtype}`,
    map: { dtype, globalDim: [64 / sizeOfDType(dtype), 8], boxDim: [32 / sizeOfDType(dtype), 6] },
    at: [[16 / sizeOfDType(dtype), 1]],
    reduction: `.${operation}`,
    ...marks,
  });

/** Words of 16 bytes: a box begins at a multiple of them along the innermost axis. */
const STEP = 4;

/** Inside, across the upper bounds, across the lower bounds, beyond all. */
const placesIn = (size: readonly number[]): number[][] => [
  size.map(() => 0),
  size.map((extent, axis) => extent - (axis === 0 ? STEP : 2)),
  size.map((_, axis) => (axis === 0 ? -STEP : -1)),
  size.map((extent, axis) => (axis === 0 ? extent + STEP : 0)),
];

/** Along each axis: a step in, a step across the upper bound, a step before the tensor. */
const stepsIn = (size: readonly number[], box: readonly number[]): number[][] => [
  size.map(() => 0),
  ...size.flatMap((extent, axis) =>
    [1, extent - box[axis]! + 1, -1].map((step) => size.map((_, other) => (other === axis ? step : 0))),
  ),
];

const INTERLEAVES = ['16B', '32B'] as const;
/** Interleaved tensors whose strides are told apart: 40 slices wide, with room between rows. */
function interleavedMap(
  interleave: (typeof INTERLEAVES)[number],
  axes: number,
  dtype: Map['dtype'],
  part: Partial<Map> = {},
): Map {
  const slice = sliceBytes({ interleave } as Map);
  return {
    dtype,
    globalDim: [40, 4, 3, 3, 3].slice(0, axes),
    boxDim: [16 / sizeOfDType(dtype), 3, 2, 2, 2].slice(0, axes),
    globalStridesBytes: [48, 200, 608, 1840].slice(0, axes - 1).map((slices) => slices * slice),
    interleave,
    swizzle: interleave === '32B' ? '32B' : 'none',
    ...part,
  };
}

function interleavedCases(interleave: (typeof INTERLEAVES)[number]): RecordedCase[] {
  const name = (what: string): string => `interleave ${interleave}, ${what}`;
  const map = (axes: number, dtype: Map['dtype'], part?: Partial<Map>) => interleavedMap(interleave, axes, dtype, part);
  const fetched = (what: string, given: Map) =>
    fetching({
      ...{ name: name(what), map: given, at: stepsIn(given.globalDim, given.boxDim) },
      bytes: boxBytes(given),
    });
  const sent = (what: string, given: Map, reduction?: string) =>
    sending({
      ...{ name: name(what), map: given, ...(reduction !== undefined && { reduction }) },
      at: [given.globalDim.map(() => 0), given.globalDim.map((size, axis) => size - (axis === 0 ? 2 : 1))],
    });
  const steps: Partial<Map> = { boxDim: [16, 3, 3], elementStrides: [3, 2, 2] };
  return [
    ...[3, 4, 5].flatMap((axes) => [fetched(`${axes} axes`, map(axes, 'u8')), sent(`${axes} axes`, map(axes, 'u8'))]),
    fetched('halves, NaN outside', map(3, 'f16', { fill: 'nan' })),
    fetched('doubles', map(3, 'f64')),
    fetched('element strides', map(3, 'u8', steps)),
    fetched('swizzle 128B', map(4, 'u8', { swizzle: '128B' })),
    sent('swizzle 64B', map(4, 'u8', { swizzle: '64B' })),
    sent('element strides', map(3, 'u8', steps)),
    ...(['u32', 'f16', 'f32', 'u64'] as const).map((dtype) => sent(`add of ${dtype}`, map(3, dtype), '.add')),
  ];
}

const STOPPED = { waitsFor: 'a GPU stops at it with an illegal instruction, and why is not known' } as const;
const BEFORE = {
  mistake: /^unsafe: .*a box that goes out from before its tensor: it begins at -\d+ along axis 0/,
} as const;
const BETWEEN_STEPS = {
  mistake: /^unsafe: .*a box that begins at element -?\d+ of the innermost axis, .*not a multiple of 16/,
} as const;

const TYPES = ['u8', 'u16', 'u32', 'i32', 'u64', 'i64', 'f16', 'bf16', 'f32', 'f64'] as const;

export const TENSOR_COPY_CASES: readonly RecordedCase[] = [
  ...AXES.flatMap((axes) => {
    const [globalDim, boxDim] = [DIMENSIONS.slice(0, axes), BOX.slice(0, axes)];
    const map: Map = { dtype: 'i32', globalDim, boxDim };
    // Boxes that do not meet: nothing orders copies of several CTAs.
    const apart = placesIn(globalDim).slice(1, 3);
    return [
      fetching({ name: `${axes} axes`, map, at: placesIn(globalDim) }),
      sending({ name: `${axes} axes`, map, at: apart, ...BEFORE }),
      sending({ name: `${axes} axes, inside and beyond`, map, at: placesIn(globalDim).slice(0, 2) }),
    ];
  }),
  ...SWIZZLES.flatMap(([swizzle, width]) => {
    const map: Map = { dtype: 'u8', globalDim: [width, 40], boxDim: [width, 32], swizzle };
    return [
      fetching({
        name: `swizzle ${swizzle}`,
        map,
        at: [
          [0, 0],
          [16, 12],
          [-16, -3],
        ],
      }),
      sending({ name: `swizzle ${swizzle}`, map, at: [[0, 4]] }),
    ];
  }),
  ...SWIZZLES.map(([swizzle, width]) =>
    fetching({
      name: `swizzle ${swizzle}, rows of 16 bytes fewer`,
      map: { dtype: 'u8', globalDim: [width, 40], boxDim: [Math.max(16, width - 16), 32], swizzle },
      at: [[0, 0]],
      refusal: /^unsupported: .*a box \d+ bytes wide with a swizzle/,
    }),
  ),
  ...TYPES.map((dtype) => {
    const width = 64 / sizeOfDType(dtype);
    const map: Map = { dtype, globalDim: [width, 6], boxDim: [width / 2, 4], swizzle: '32B' };
    return fetching({
      name: dtype,
      map,
      at: [
        [16 / sizeOfDType(dtype), 1],
        [width - 16 / sizeOfDType(dtype), 4],
      ],
    });
  }),
  ...(['f16', 'bf16', 'f32', 'f64'] as const).map((dtype) => {
    const width = 64 / sizeOfDType(dtype);
    const map: Map = { dtype, globalDim: [width, 6], boxDim: [width, 4], fill: 'nan' };
    return fetching({
      name: `${dtype}, NaN outside`,
      map,
      at: [
        [16 / sizeOfDType(dtype), 3],
        [-16 / sizeOfDType(dtype), -2],
      ],
    });
  }),
  ...[
    [2, 1],
    [1, 2],
    [2, 2],
    [3, 2],
  ].map((elementStrides) =>
    fetching({
      name: `element strides ${elementStrides.join(' ')}`,
      map: { dtype: 'i32', globalDim: [24, 12], boxDim: [12, 6], elementStrides },
      at: [
        [0, 0],
        [4, 3],
        [20, 9],
      ],
    }),
  ),
  fetching({
    name: 'rows apart',
    map: { dtype: 'i32', globalDim: [6, 4, 2], boxDim: [4, 4, 2], globalStridesBytes: [32, 160] },
    at: [
      [0, 0, 0],
      [4, 1, 1],
    ],
  }),
  ...(
    [
      ['u8', 8, 'half of 16 bytes on'],
      ['u8', -1, 'a byte before the tensor'],
      ['f16', 7, 'seven halves on'],
      ['f32', 2, 'half of 16 bytes on'],
      ['f64', 1, 'half of 16 bytes on'],
    ] as const
  ).flatMap(([dtype, first, place]) => {
    const map: Map = { dtype, globalDim: [64 / sizeOfDType(dtype), 6], boxDim: [32 / sizeOfDType(dtype), 4] };
    return [
      fetching({ name: `${dtype}, ${place}`, map, at: [[first, 0]], ...BETWEEN_STEPS }),
      sending({ name: `${dtype}, ${place}`, map, at: [[first, 0]], ...BETWEEN_STEPS }),
    ];
  }),
  ...(['64B', '128B', '256B'] as const).map((l2Promotion) =>
    fetching({
      name: `L2 promotion ${l2Promotion}`,
      map: { dtype: 'i32', globalDim: [16, 8], boxDim: [8, 4], l2Promotion },
      at: [[4, 2]],
    }),
  ),
  ...INTERLEAVES.flatMap(interleavedCases),
  ...(
    [
      ['i32', ['add', 'min', 'max', 'and', 'or', 'xor']],
      ['u32', ['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor']],
      ['u64', ['add', 'min', 'max', 'and', 'or', 'xor']],
      ['i64', ['min', 'max']],
      ['f16', ['add', 'min', 'max']],
      ['bf16', ['add', 'min', 'max']],
      ['f32', ['add']],
      ['f64', ['add']],
    ] as const
  ).flatMap(([dtype, operations]) => operations.map((operation) => reducing(dtype, operation))),
  ...['add', 'and', 'or', 'xor'].map((operation) => reducing('i64', operation, STOPPED)),
  ...SWIZZLES.map(([swizzle, width]) =>
    sending({
      name: `add of i32, swizzle ${swizzle}`,
      map: { dtype: 'i32', globalDim: [width / 4, 12], boxDim: [width / 4, 8], swizzle },
      at: [[0, 2]],
      reduction: '.add',
    }),
  ),
  ...SWIZZLES.map(([swizzle, width]) =>
    fetching({
      name: `swizzle ${swizzle}, rows of 16 bytes fewer, and how many bytes they count`,
      map: { dtype: 'u8', globalDim: [width, 40], boxDim: [Math.max(16, width - 16), 32], swizzle },
      at: [[0, 0]],
      bytes: Math.max(16, width - 16) * 32,
      refusal: /^unsupported: .*a box \d+ bytes wide with a swizzle/,
    }),
  ),
];
