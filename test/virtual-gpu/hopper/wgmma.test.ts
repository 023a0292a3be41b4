import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { mulberry32 } from '../../../src/stats/random.ts';
import { accumulatorFor, factorsOf, tensorModel } from '../../../src/virtual-gpu/runtime/tensor-model.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { type HopperKernel, loadShared, outputOf, POINTER, refusalOf } from './ptx.ts';

let device: Device;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
});
afterAll(() => device.close());

const M = 64;

/** A type of elements: its size, and how the test writes a number. */
const TYPES = {
  f16: { bytes: 2, write: (view: DataView, at: number, value: number) => view.setFloat16(at, value, true) },
  bf16: { bytes: 2, write: (view: DataView, at: number, value: number) => view.setUint16(at, bf16(value), true) },
  tf32: { bytes: 4, write: (view: DataView, at: number, value: number) => view.setFloat32(at, value, true) },
  s8: { bytes: 1, write: (view: DataView, at: number, value: number) => view.setInt8(at, value) },
  u8: { bytes: 1, write: (view: DataView, at: number, value: number) => view.setUint8(at, value) },
} as const;
type ElementType = keyof typeof TYPES;

function bf16(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getUint16(0);
}

interface Case {
  readonly type: ElementType;
  readonly d: 'f32' | 'f16' | 's32';
  readonly n: number;
  /** Bytes of a swizzled row. */
  readonly swizzle: 0 | 32 | 64 | 128;
  readonly a: 'shared' | 'registers';
  readonly isAcross?: { a?: boolean; b?: boolean };
  readonly isNegated?: boolean;
  /** Whether D was something before, and counts. */
  readonly keepsC?: boolean;
  /** How often it is executed, once without. */
  readonly times?: number;
}

/** An operand: `mn` × `k` elements, and where each lies. */
interface Placed {
  readonly descriptor: bigint;
  readonly offsetOf: (mn: number, k: number) => number;
}

const MODE = { 0: 0n, 128: 1n, 64: 2n, 32: 3n } as const;

const encode = (start: number, leading: number, stride: number, swizzle: Case['swizzle']): bigint =>
  BigInt(start >> 4) | (BigInt(leading >> 4) << 16n) | (BigInt(stride >> 4) << 32n) | (MODE[swizzle] << 62n);

/**
 * Layouts by the pictures in the PTX ISA: atoms of eight rows; within an atom of 32, 64 or 128 bytes a row, pieces of 16 bytes
 * change places with those whose number differs by the bits of their 128-byte line.
 */
function place(
  start: number,
  {
    swizzle,
    mn,
    k,
    bytes,
    isAcross,
  }: { swizzle: Case['swizzle']; mn: number; k: number; bytes: number; isAcross: boolean },
): Placed {
  const perPiece = 16 / bytes;
  const width = swizzle === 0 ? 1 : swizzle / 16;
  const inAtom = (row: number, piece: number): number => {
    const line = Math.floor((row * width * 16) / 128) % width;
    return row * width * 16 + ((piece ^ (swizzle === 0 ? 0 : line)) % width) * 16;
  };
  const atomBytes = 8 * width * 16;
  if (!isAcross) {
    // Rows of M or N; pieces along K. Without a swizzle the second piece of K lies behind all atoms of the first.
    const leading = swizzle === 0 ? (mn / 8) * atomBytes : 0;
    return {
      descriptor: encode(start, leading, atomBytes, swizzle),
      offsetOf: (row, column) => {
        const piece = Math.floor(column / perPiece);
        const within = (column % perPiece) * bytes;
        const atom = Math.floor(row / 8) * atomBytes;
        return start + atom + (swizzle === 0 ? piece * leading + (row % 8) * 16 : inAtom(row % 8, piece)) + within;
      },
    };
  }
  // Rows of K; pieces along M or N. Atoms follow each other along K first.
  const perColumn = (k / 8) * atomBytes;
  const [leading, stride] = swizzle === 0 ? [atomBytes, perColumn] : [perColumn, atomBytes];
  return {
    descriptor: encode(start, leading, stride, swizzle),
    offsetOf: (column, row) => {
      const piece = Math.floor(column / perPiece);
      const atom = Math.floor(row / 8) * atomBytes + Math.floor(piece / width) * perColumn;
      return start + atom + inAtom(row % 8, piece % width) + (column % perPiece) * bytes;
    },
  };
}

const list = (name: string, count: number): string =>
  `{${Array.from({ length: count }, (_, i) => `%${name}${i}`).join(', ')}}`;

/** Shared memory of A and B, and the kernel that multiplies them; D's registers go out as they are. */
function prepare(test: Case, values: { a: readonly number[]; b: readonly number[] }) {
  const { type, d, n, swizzle, a: source, isAcross = {}, isNegated, keepsC, times = 1 } = test;
  const { bytes, write } = TYPES[type];
  const k = 32 / bytes;
  const image = new DataView(new ArrayBuffer(49_152));
  const a = place(0, { swizzle, mn: M, k, bytes, isAcross: isAcross.a ?? false });
  const b = place(16_384, { swizzle, mn: n, k, bytes, isAcross: isAcross.b ?? false });
  for (let row = 0; row < M; row++)
    for (let i = 0; i < k; i++) write(image, a.offsetOf(row, i), values.a[row * k + i]!);
  for (let column = 0; column < n; column++)
    for (let i = 0; i < k; i++) write(image, b.offsetOf(column, i), values.b[column * k + i]!);
  // A as the fragments of mma: register r of a lane has columns of piece r / 2 of row lane / 4, or of that eight below.
  const fragments = 45_056;
  for (let thread = 0; thread < 128; thread++)
    for (let r = 0; r < 4; r++)
      for (let i = 0; i < 4 / bytes; i++) {
        const lane = thread % 32;
        const row = Math.floor(thread / 32) * 16 + Math.floor(lane / 4) + (r % 2) * 8;
        const column = Math.floor(r / 2) * (k / 2) + (lane % 4) * (4 / bytes) + i;
        if (source === 'registers')
          write(image, fragments + thread * 16 + r * 4 + i * bytes, values.a[row * k + column]!);
      }
  const registers = d === 'f16' ? n / 4 : n / 2;
  const name = d === 'f32' ? 'f' : 'r';
  const set = Array.from({ length: registers }, (_, i) =>
    d === 'f32'
      ? `mov.f32 %f${i}, ${keepsC ? '0f41200000' : '0f7FC00000'};`
      : `mov.b32 %r${i}, ${keepsC && d === 's32' ? 10 : 0};`,
  ).join('\n');
  const isHalf = bytes === 2;
  const scales = type === 's8' || type === 'u8' ? '' : `, ${isNegated ? -1 : 1}, 1`;
  const transposes = isHalf ? `${source === 'shared' ? `, ${isAcross.a ? 1 : 0}` : ''}, ${isAcross.b ? 1 : 0}` : '';
  const operandA = source === 'shared' ? '%rd10' : '{%r76, %r77, %r78, %r79}';
  const kernel: HopperKernel = {
    parameters: [POINTER('in'), POINTER('out')],
    body: `
  ${loadShared(49_152)}
  .local .align 4 .b8 stack[16];
  mov.u32 %r70, %tid.x;
  shl.b32 %r71, %r70, 4;
  mov.u32 %r72, smem;
  add.u32 %r71, %r71, %r72;
  ld.shared.v4.b32 {%r76, %r77, %r78, %r79}, [%r71+${fragments}];
  mov.b64 %rd10, 0x${a.descriptor.toString(16)};
  mov.b64 %rd11, 0x${b.descriptor.toString(16)};
  setp.ne.u32 %p2, ${keepsC ? 1 : 0}, 0;
  ${set}
  wgmma.fence.sync.aligned;
  ${`wgmma.mma_async.sync.aligned.m64n${n}k${k}.${d}.${type}.${type} ${list(name, registers)}, ${operandA}, %rd11, %p2${scales}${transposes};\n`.repeat(times)}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ld.param.u64 %rd30, [out];
  cvta.to.global.u64 %rd30, %rd30;
  mov.u32 %r70, %tid.x;
  mul.wide.u32 %rd31, %r70, ${registers * 4};
  add.u64 %rd30, %rd30, %rd31;
  ${Array.from({ length: registers }, (_, i) => `st.global.b32 [%rd30+${i * 4}], %${name}${i};`).join('\n')}`,
  };
  return { kernel, image: new Uint8Array(image.buffer), registers, k };
}

/** D, [64][n]. */
async function multiply(test: Case, values: { a: readonly number[]; b: readonly number[] }): Promise<Float64Array> {
  const { kernel, image, registers } = prepare(test, values);
  const contents = await outputOf(device, kernel, {
    arguments: ['in', 'out'],
    buffers: { in: image, out: 128 * registers * 4 },
  });
  const view = new DataView(contents.buffer, contents.byteOffset);
  const result = new Float64Array(M * test.n);
  for (let thread = 0; thread < 128; thread++)
    for (let i = 0; i < test.n / 2; i++) {
      const row = Math.floor(thread / 32) * 16 + Math.floor((thread % 32) / 4) + (Math.floor(i / 2) % 2) * 8;
      const column = Math.floor(i / 4) * 8 + (thread % 4) * 2 + (i % 2);
      const at = thread * registers * 4;
      result[row * test.n + column] =
        test.d === 'f32'
          ? view.getFloat32(at + i * 4, true)
          : test.d === 's32'
            ? view.getInt32(at + i * 4, true)
            : view.getFloat16(at + Math.floor(i / 2) * 4 + (i % 2) * 2, true);
    }
  return result;
}

/** Small integers, whose products and sums every type holds. */
function integers({ type, n }: Case) {
  const k = 32 / TYPES[type].bytes;
  const least = type === 'u8' ? 0 : -3;
  const draw = (i: number, step: number) => least + ((i * step + (i >> 4)) % 7);
  return {
    a: Array.from({ length: M * k }, (_, i) => draw(i, 5)),
    b: Array.from({ length: n * k }, (_, i) => draw(i, 3)),
  };
}

function expectedOf(test: Case, { a, b }: { a: readonly number[]; b: readonly number[] }): number[] {
  const k = 32 / TYPES[test.type].bytes;
  return Array.from({ length: M * test.n }, (_, at) => {
    let sum = 0;
    for (let i = 0; i < k; i++) sum += a[Math.floor(at / test.n) * k + i]! * b[(at % test.n) * k + i]!;
    const start = test.keepsC && test.d !== 'f16' ? 10 : 0;
    return start + (test.keepsC ? (test.times ?? 1) : 1) * (test.isNegated ? -sum : sum);
  });
}

const SWIZZLES = [0, 32, 64, 128] as const;
const cases: Case[] = [
  ...SWIZZLES.flatMap((swizzle) =>
    (['f16', 'bf16', 'tf32', 's8', 'u8'] as const).map((type): Case => {
      return { type, d: type.endsWith('8') ? 's32' : 'f32', n: 64, swizzle, a: 'shared', keepsC: true };
    }),
  ),
  ...SWIZZLES.flatMap((swizzle) => [
    { type: 'f16', d: 'f32', n: 128, swizzle, a: 'shared', isAcross: { a: true, b: true } } as const,
    { type: 'bf16', d: 'f32', n: 64, swizzle, a: 'registers', isAcross: { b: true }, keepsC: true } as const,
  ]),
  { type: 'f16', d: 'f16', n: 64, swizzle: 128, a: 'shared' },
  { type: 'f16', d: 'f32', n: 8, swizzle: 0, a: 'registers', isNegated: true, keepsC: true },
  { type: 'f16', d: 'f32', n: 24, swizzle: 32, a: 'shared', isNegated: true },
  { type: 'tf32', d: 'f32', n: 16, swizzle: 64, a: 'registers', isNegated: true },
  { type: 's8', d: 's32', n: 32, swizzle: 128, a: 'registers', keepsC: true },
  { type: 'f16', d: 'f32', n: 256, swizzle: 128, a: 'shared' },
];

const nameOf = ({ type, d, n, swizzle, a, isAcross, isNegated, keepsC }: Case): string =>
  `${d} += ${type}, n ${n}, swizzle ${swizzle}, A from ${a}${isAcross ? `, across K: ${Object.keys(isAcross)}` : ''}${isNegated ? ', negated' : ''}${keepsC ? ', onto C' : ''}`;

describe('wgmma', () => {
  sampled(
    'forms of wgmma',
    cases.map((test) => [nameOf(test), test] as const),
    { oneIn: 3 },
  )('multiplies integers exactly: %s', async (_, test) => {
    const values = integers(test);
    expect([...(await multiply(test, values))]).toEqual(expectedOf(test, values).map((value) => value + 0));
  });

  // From the second time on, a CTA knows where the operands of a descriptor lie.
  sampled(
    'forms of wgmma that are executed again',
    cases.map((test) => [nameOf(test), { ...test, times: 3 }] as const),
    { oneIn: 3 },
  )('does the same again: %s', async (_, test) => {
    const values = integers(test);
    expect([...(await multiply(test, values))]).toEqual(expectedOf(test, values).map((value) => value + 0));
  });

  it('adds as mma.sync of sm_90 does, to the bit', async () => {
    const random = mulberry32(7);
    const draw = () => Math.fround((random() - 0.5) * 2 ** Math.floor(random() * 12 - 6));
    const test: Case = { type: 'f16', d: 'f32', n: 16, swizzle: 128, a: 'shared', keepsC: true };
    const half = (value: number) => new Float16Array([value])[0]!;
    const values = {
      a: Array.from({ length: M * 16 }, () => half(draw())),
      b: Array.from({ length: 16 * 16 }, () => half(draw())),
    };
    const accumulate = accumulatorFor('f32', 'f16', tensorModel('sm_90a'))!;
    const [a, b] = [factorsOf(Float64Array.from(values.a)), factorsOf(Float64Array.from(values.b))];
    const expected = Array.from({ length: M * 16 }, (_, i) => accumulate(10, a, b, Math.floor(i / 16), i % 16, 16));
    expect([...(await multiply(test, values))]).toEqual(expected);
  });

  it('carries infinities and NaNs', async () => {
    const test: Case = { type: 'f16', d: 'f32', n: 8, swizzle: 0, a: 'shared' };
    const values = integers(test);
    values.a[0] = Number.POSITIVE_INFINITY;
    values.b[0] = 1;
    values.b[16] = 0;
    const result = await multiply(test, values);
    expect(result[0]).toBe(Number.POSITIVE_INFINITY);
    expect(result[1]).toBeNaN();
    expect(result[8]).toBe(expectedOf(test, values)[8]);
  });

  it('carries an infinity in one tile of B beside tiles that are as usual, again and again', async () => {
    const test: Case = { type: 'f16', d: 'f32', n: 32, swizzle: 128, a: 'shared', keepsC: true, times: 3 };
    const values = integers(test);
    // Column 11, in the second of four tiles of eight.
    values.b[11 * 16] = Number.POSITIVE_INFINITY;
    const result = await multiply(test, values);
    const expected = expectedOf(test, values);
    expect([...result].filter((_, i) => i % 32 !== 11)).toEqual(expected.filter((_, i) => i % 32 !== 11));
    const ofA = Array.from({ length: M }, (_, row) => values.a[row * 16]!);
    expect([...result].filter((_, i) => i % 32 === 11)).toEqual(ofA.map((a) => a * Number.POSITIVE_INFINITY));
  });

  it('needs a fence before the second time, too', async () => {
    const test: Case = { type: 'f16', d: 'f32', n: 16, swizzle: 128, a: 'shared', times: 2 };
    const { kernel, image } = prepare(test, integers(test));
    const body = kernel.body.replace('wgmma.fence.sync.aligned;', '');
    expect(await refusalOf(device, { ...kernel, body }, launch(image))).toMatch(/without a wgmma.fence before it/);
  });

  describe('a read of the accumulators', () => {
    const test: Case = { type: 'f16', d: 'f32', n: 16, swizzle: 128, a: 'shared', keepsC: true };
    const end = /wgmma.commit_group.sync.aligned;\s*wgmma.wait_group.sync.aligned 0;/;
    const outcome = (to: string) => {
      const { kernel, image } = prepare(test, integers(test));
      return refusalOf(device, { ...kernel, body: kernel.body.replace(end, to) }, launch(image));
    };
    const [commit, wait] = ['wgmma.commit_group.sync.aligned;', 'wgmma.wait_group.sync.aligned'];

    it.each([
      ['without a wait', commit],
      ['after a wait that leaves their group', `${commit} ${wait} 1;`],
      ['after a wait without a commit', `${wait} 0;`],
      ['through a copy', `${commit} mov.f32 %f100, %f3; add.f32 %f100, %f100, %f100; ${wait} 0;`],
      [
        'in a branch without a wait',
        `${commit} setp.eq.u32 %p3, %r70, 9999; @%p3 bra waited; bra.uni read; waited: ${wait} 0; read: bar.sync 0;`,
      ],
    ])('%s is unsafe', async (_, instructions) => {
      expect(await outcome(instructions)).toMatch(
        /^unsafe: .*reads an accumulator of wgmma.mma_async before a wgmma.wait_group/,
      );
    });

    it.each([
      [
        'after a wait in every branch that is taken',
        `${commit} setp.ne.u32 %p3, %r70, 9999; @%p3 bra waited; bra.uni read; waited: ${wait} 0; read: bar.sync 0;`,
      ],
      ['after a copy that is read after the wait', `${commit} mov.f32 %f100, %f3; ${wait} 0; mov.f32 %f3, %f100;`],
      ['by a store to the stack', `${commit} st.local.f32 [stack], %f3; ${wait} 0; ld.local.f32 %f3, [stack];`],
      ['with a later group still on its way elsewhere', `${commit} ${commit} ${wait} 1;`],
    ])('%s is fine', async (_, instructions) => {
      expect(await outcome(instructions)).toBe('passed');
    });
  });

  const launch = (image: Uint8Array) => ({ arguments: ['in', 'out'], buffers: { in: image, out: 65_536 } });
  const base: Case = { type: 'f16', d: 'f32', n: 64, swizzle: 128, a: 'shared' };

  it('needs a fence.proxy.async behind the stores of its operands', async () => {
    const { kernel, image } = prepare(base, integers(base));
    const watched = { ...launch(image), options: { findRaces: true } };
    expect(await refusalOf(device, kernel, watched)).toBe('passed');
    const without = { ...kernel, body: kernel.body.replace('fence.proxy.async;', '') };
    expect(await refusalOf(device, without, watched)).toMatch(
      /^unsafe: .*wgmma.mma_async.* may read what lay .*no fence.proxy.async/,
    );
  });

  describe('in a cluster', () => {
    const image = (test: Case) => {
      const { image: one } = prepare(test, integers(test));
      const both = new Uint8Array(2 * one.length);
      for (const cta of [0, 1]) both.set(one, cta * one.length);
      return both;
    };
    const inCluster = (test: Case) => ({ ...launch(image(test)), grid: 2, cluster: 2 });
    /** B's descriptor is made from the address of shared memory, after `masked`. */
    const addressed = (test: Case, masked: string, before = ''): HopperKernel => {
      const { kernel } = prepare(test, integers(test));
      const move = /mov.b64 %rd11, 0x(\w+);/;
      const start = BigInt(`0x${move.exec(kernel.body)![1]!}`);
      const body = kernel.body.replace(
        move,
        `mov.u32 %r60, smem; ${masked} add.u32 %r60, %r60, ${Number(start & 0x3fffn) * 16}; shr.u32 %r60, %r60, 4;
  cvt.u64.u32 %rd11, %r60; mov.b64 %rd12, 0x${((start >> 14n) << 14n).toString(16)}; add.u64 %rd11, %rd11, %rd12;
  ${before}`,
      );
      return { ...kernel, body };
    };
    const mask = 'and.b32 %r60, %r60, 0x3ffff;';
    /** B's columns behind the 64th lie in a second panel, the leading bytes from the first. */
    const panels: Case = { type: 'f16', d: 'f32', n: 128, swizzle: 128, a: 'shared', isAcross: { b: true } };

    it('an operand takes an address without the rank of its CTA', async () => {
      expect(await refusalOf(device, addressed(panels, mask), inCluster(panels))).toBe('passed');
      expect(await refusalOf(device, addressed(panels, ''), { ...inCluster(panels), cluster: 1 })).toBe('passed');
      expect(await refusalOf(device, addressed(panels, ''), inCluster(panels))).toMatch(
        /^unsafe: .*an operand whose leading bytes are 2304 in CTA 1 of the cluster and 2048 in CTA 0: .* mask it \(& 0x3ffff\), in CTA \(1, 0, 0\)/,
      );
      const reversed = { ...inCluster(panels), options: { orderSeed: 3 } };
      expect(await refusalOf(device, addressed(panels, ''), reversed)).toMatch(/^unsafe: .*mask it \(& 0x3ffff\)/);
    });

    it('with the rank it lies elsewhere, as on a GPU', async () => {
      // CTA 0 leaves: only CTA 1 multiplies.
      const alone = 'mov.u32 %r61, %cluster_ctarank; setp.eq.u32 %p3, %r61, 0; @%p3 ret;';
      const unmasked = await outputOf(device, addressed(panels, '', alone), inCluster(panels));
      const right = await outputOf(device, addressed(panels, mask, alone), inCluster(panels));
      const further = addressed(panels, mask, `${alone} add.u64 %rd11, %rd11, ${(256 / 16) * 2 ** 16};`);
      expect(unmasked).toEqual(await outputOf(device, further, inCluster(panels)));
      expect(unmasked).not.toEqual(right);
    });

    it('a fault of such an operand says so', async () => {
      const alone = 'mov.u32 %r61, %cluster_ctarank; setp.eq.u32 %p3, %r61, 0; @%p3 ret;';
      // Behind B lies what a plain store wrote that no fence follows.
      const behind = 'mov.u32 %r62, smem; st.shared.b32 [%r62+20480], 0;';
      const kernel = addressed(panels, '', `${alone} ${behind}`);
      const watched = { ...inCluster(panels), options: { findRaces: true } };
      expect(await refusalOf(device, kernel, watched)).toMatch(
        /no fence.proxy.async is between them \(the leading bytes of its operand, 2304, seem to hold 256 for the rank: .*\): at/,
      );
      expect(await refusalOf(device, addressed(panels, mask, `${alone} ${behind}`), watched)).toBe('passed');
    });

    it('the rank makes no difference where leading bytes are not used', async () => {
      expect(await refusalOf(device, addressed(base, ''), inCluster(base))).toBe('passed');
      const onePanel: Case = { ...panels, n: 64 };
      expect(await refusalOf(device, addressed(onePanel, ''), inCluster(onePanel))).toBe('passed');
    });
  });

  it.each([
    ['a missing wgmma.fence', 'wgmma.fence.sync.aligned;', '', /^unsafe: .*without a wgmma.fence before it/],
    [
      'an operand outside of shared memory',
      /mov.b64 %rd11, 0x(\w+);/,
      'mov.b64 %rd11, 0x4000004000003ff8;',
      /^unsafe: .*out-of-bounds shared read/,
    ],
    ['a base offset', /mov.b64 %rd11, 0x(\w+);/, 'mov.b64 %rd11, 0x4002004000000400;', /^unsupported: .*base offset 1/],
    ['sparse matrices', 'wgmma.mma_async.sync', 'wgmma.mma_async.sp.sync', /unsupported: .*wgmma.mma_async.sp/],
  ])('refuses %s', async (_, from, to, message) => {
    const { kernel, image } = prepare(base, integers(base));
    expect(await refusalOf(device, { ...kernel, body: kernel.body.replace(from, to) }, launch(image))).toMatch(message);
  });
});
