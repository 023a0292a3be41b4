import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { sizeOfDType } from '../../../src/core/dtype.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import {
  byThread0,
  type HopperKernel,
  loadShared,
  MAP_PARAMETER,
  outputOf,
  POINTER,
  refusalOf,
  storeShared,
  type TensorMapArgument,
  tensorMap,
  waitFor,
} from './ptx.ts';

let device: Device;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
});
afterAll(() => device.close());

/** The mbarrier lies behind the tile. */
const BARRIER = 32_768;

const coordinates = (at: readonly number[]): string => `{${at.join(', ')}}`;

/** Fetches one box, and stores what shared memory holds. */
const fetching = (axes: number, at: readonly number[], boxBytes: number, expected = boxBytes): HopperKernel => ({
  parameters: [MAP_PARAMETER('map'), POINTER('out')],
  body: `
  mov.u32 %r10, smem;
  add.u32 %r11, %r10, ${BARRIER};
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ${byThread0(`
  mbarrier.init.shared::cta.b64 [%r11], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], ${expected};
  cp.async.bulk.tensor.${axes}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd2, ${coordinates(at)}], [%r11];`)}
  bar.sync 0;
  ${waitFor('%r11', 0, 'again')}
  ${storeShared(boxBytes)}`,
});

const OUT: { kind: 'buffer'; buffer: string; offsetBytes: number } = { kind: 'buffer', buffer: 'out', offsetBytes: 0 };

const volume = (sizes: readonly number[]): number => sizes.reduce((product, size) => product * size, 1);

const words = (count: number): Int32Array => Int32Array.from({ length: count }, (_, i) => i + 1);

async function fetched(map: TensorMapArgument, at: number[], input: Int32Array): Promise<Int32Array> {
  const bytes = volume(map.boxDim) * 4;
  const contents = await outputOf(device, fetching(at.length, at, bytes), {
    arguments: [map, OUT],
    buffers: { in: input, out: bytes },
  });
  return new Int32Array(contents.buffer, contents.byteOffset, bytes / 4);
}

/** The element of a dense tensor of 1, 2, 3, … at these indices, or 0 outside. */
function elementAt(dimensions: readonly number[], index: readonly number[]): number {
  if (index.some((i, axis) => i < 0 || i >= dimensions[axis]!)) return 0;
  return index.reduceRight((at, i, axis) => at * dimensions[axis]! + i, 0) + 1;
}

/** Indices within a box, innermost axis first, in the order of shared memory. */
function* indicesOf(box: readonly number[]): Generator<number[]> {
  for (let i = 0; i < volume(box); i++) {
    let rest = i;
    yield box.map((size) => {
      const own = rest % size;
      rest = Math.floor(rest / size);
      return own;
    });
  }
}

describe('a box of a tensor', () => {
  const dimensions = [12, 5, 4, 3, 3];
  const box = [8, 3, 2, 2, 2];
  it.each([1, 2, 3, 4, 5])('of %i axes arrives, with zeros outside of the tensor', async (axes) => {
    const [size, part] = [dimensions.slice(0, axes), box.slice(0, axes)];
    const map = tensorMap({ dtype: 'i32', globalDim: size, boxDim: part }, 4);
    const across = size.map((extent, axis) => extent - (axis === 0 ? 4 : 2));
    const before = size.map((_, axis) => (axis === 0 ? -4 : -1));
    for (const at of [size.map(() => 0), across, before]) {
      const tile = await fetched(map, at, words(volume(size)));
      const expected = [...indicesOf(part)].map((index) =>
        elementAt(
          size,
          index.map((i, axis) => at[axis]! + i),
        ),
      );
      expect([...tile]).toEqual(expected);
    }
  });

  // Rows of 32, 64 or 128 bytes. A pattern repeats every 2, 4 or 8 rows of 128 bytes.
  it.each([
    ['32B', 32],
    ['64B', 64],
    ['128B', 128],
  ] as const)('is swizzled by %s', async (swizzle, rowBytes) => {
    const [width, rows] = [rowBytes / 4, 32];
    const input = words(width * rows);
    const map = tensorMap({ dtype: 'i32', globalDim: [width, rows], boxDim: [width, rows], swizzle }, 4);
    const tile = await fetched(map, [0, 0], input);
    for (let row = 0; row < rows; row++)
      for (let chunk = 0; chunk < rowBytes / 16; chunk++) {
        // Which 128-byte line of the tile the row lies in, among those of the pattern.
        const line = Math.floor((row * rowBytes) / 128) % (rowBytes / 16);
        const at = (row * rowBytes) / 4 + (chunk ^ line) * 4;
        const from = row * width + chunk * 4;
        expect([...tile.subarray(at, at + 4)]).toEqual([...input.subarray(from, from + 4)]);
      }
  });

  it('takes every second element along an axis with an element stride of 2, but all along the innermost axis', async () => {
    const map = tensorMap({ dtype: 'i32', globalDim: [16, 8], boxDim: [8, 4], elementStrides: [2, 2] }, 4);
    const bytes = 8 * 2 * 4;
    const contents = await outputOf(device, fetching(2, [4, 2], bytes), {
      arguments: [map, OUT],
      buffers: { in: words(128), out: bytes },
    });
    const at = (x: number, y: number) => y * 16 + x + 1;
    const expected = [2, 4].flatMap((y) => [4, 5, 6, 7, 8, 9, 10, 11].map((x) => at(x, y)));
    expect([...new Int32Array(contents.buffer, 0, 16)]).toEqual(expected);
  });

  it('is filled with NaN outside of the tensor if the map says so', async () => {
    const map = tensorMap({ dtype: 'f32', globalDim: [4, 2], boxDim: [4, 4], fill: 'nan' }, 4);
    const contents = await outputOf(device, fetching(2, [0, 0], 64), {
      arguments: [map, OUT],
      buffers: { in: new Float32Array(8).fill(1.5), out: 64 },
    });
    const tile = [...new Float32Array(contents.buffer, 0, 16)];
    expect(tile.slice(0, 8)).toEqual(new Array(8).fill(1.5));
    expect(tile.slice(8)).toEqual(new Array(8).fill(Number.NaN));
  });

  it('goes out to the tensor, and not beyond', async () => {
    const map = tensorMap(
      { dtype: 'i32', globalDim: [6, 3], boxDim: [4, 4], buffer: 'out', globalStridesBytes: [32] },
      4,
    );
    const kernel: HopperKernel = {
      parameters: [MAP_PARAMETER('map'), POINTER('in')],
      body: `
  ${loadShared(64)}
  mov.u32 %r10, smem;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ${byThread0(`
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {4, 1}], [%r10];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;`)}`,
    };
    const contents = await outputOf(device, kernel, {
      arguments: [map, 'in'],
      buffers: { in: words(16), out: 96 },
    });
    const out = [...new Int32Array(contents.buffer, 0, 24)];
    const row = (...values: number[]) => [...values, ...new Array(8 - values.length).fill(0)];
    expect(out).toEqual([...row(), ...row(0, 0, 0, 0, 1, 2), ...row(0, 0, 0, 0, 5, 6)]);
  });
});

const REDUCE = 'cp.reduce.async.bulk.tensor';

/** Combines a box with what the tensor holds, in each of the CTAs. */
const reducing = (
  operation: string,
  axes: number,
  at: readonly number[],
  boxBytes: number,
  opcode = REDUCE,
): HopperKernel => ({
  parameters: [MAP_PARAMETER('map'), POINTER('in')],
  body: `
  ${loadShared(boxBytes)}
  mov.u32 %r10, smem;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ${byThread0(`
  ${opcode}.${axes}d.global.shared::cta${opcode === REDUCE ? `.${operation}` : ''}.tile.bulk_group [%rd2, ${coordinates(at)}], [%r10];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;`)}`,
});

describe('a reduction into a tensor', () => {
  const sum = (map: TensorMapArgument, at: number[], input: Int32Array, out: Int32Array, grid = 1) =>
    outputOf(device, reducing('add', at.length, at, volume(map.boxDim) * 4), {
      ...{ grid, arguments: [map, 'in'], buffers: { in: input, out } },
    }).then((bytes) => [...new Int32Array(bytes.buffer, bytes.byteOffset, out.length)]);

  it('adds what lies within the tensor, and nothing beyond', async () => {
    const map = tensorMap(
      { dtype: 'i32', globalDim: [6, 3], boxDim: [4, 4], buffer: 'out', globalStridesBytes: [32] },
      4,
    );
    const out = await sum(map, [4, 1], words(16), new Int32Array(24).fill(100));
    const row = (...values: number[]) => [...values, ...new Array(8 - values.length).fill(100)];
    expect(out).toEqual([...row(), ...row(100, 100, 100, 100, 101, 102), ...row(100, 100, 100, 100, 105, 106)]);
  });

  it('takes a swizzled tile in the order of the tensor', async () => {
    const map = tensorMap({ dtype: 'i32', globalDim: [32, 8], boxDim: [32, 8], swizzle: '128B', buffer: 'out' }, 4);
    const out = await sum(map, [0, 0], words(256), new Int32Array(256));
    for (let row = 0; row < 8; row++)
      for (let column = 0; column < 32; column++)
        expect(out[row * 32 + column]).toBe(row * 32 + ((Math.floor(column / 4) ^ row) * 4 + (column % 4)) + 1);
  });

  it('of several CTAs into one place is no race, and none is lost', async () => {
    const map = tensorMap({ dtype: 'i32', globalDim: [8, 2], boxDim: [8, 2], buffer: 'out' }, 4);
    const bytes = await outputOf(device, reducing('add', 2, [0, 0], 64), {
      ...{ grid: 5, arguments: [map, 'in'], buffers: { in: words(16 * 5), out: new Int32Array(16) } },
      options: { findRaces: true, orderSeed: 3 },
    });
    const sums = Array.from({ length: 16 }, (_, i) => 5 * (i + 1) + 16 * (1 + 2 + 3 + 4));
    expect([...new Int32Array(bytes.buffer, bytes.byteOffset, 16)]).toEqual(sums);
  });

  it('keeps a number beside NaN, a zero’s sign, and makes two NaNs one', async () => {
    const [one, nan, other, zero, minusZero] = [0x3c00, 0x7e01, 0xfe00, 0, 0x8000];
    const map = tensorMap({ dtype: 'f16', globalDim: [8], boxDim: [8], buffer: 'out' }, 2);
    const bounds = async (operation: string) => {
      const bytes = await outputOf(device, reducing(operation, 1, [0], 16), {
        arguments: [map, 'in'],
        buffers: {
          in: Uint16Array.of(one, nan, other, zero, minusZero, zero, minusZero, one),
          out: Uint16Array.of(nan, one, nan, minusZero, zero, zero, minusZero, 0xbc00),
        },
      });
      return [...new Uint16Array(bytes.buffer, bytes.byteOffset, 8)];
    };
    expect(await bounds('min')).toEqual([one, one, 0x7fff, minusZero, minusZero, zero, minusZero, 0xbc00]);
    expect(await bounds('max')).toEqual([one, one, 0x7fff, zero, zero, zero, minusZero, one]);
  });

  it.each([
    ['u16', 'add'],
    ['u8', 'or'],
    ['f32', 'min'],
    ['f64', 'max'],
    ['i32', 'inc'],
    ['f16', 'xor'],
  ] as const)('of %s by %s is refused with its line', async (dtype, operation) => {
    const bytes = sizeOfDType(dtype);
    const map = tensorMap({ dtype, globalDim: [64 / bytes], boxDim: [64 / bytes], buffer: 'out' }, bytes);
    const refusal = await refusalOf(device, reducing(operation, 1, [0], 64), {
      arguments: [map, 'in'],
      buffers: { in: 64, out: 64 },
    });
    expect(refusal).toMatch(
      new RegExp(`^unsupported: .*cp\\.reduce\\.async\\.bulk\\.tensor.*${operation}.*through a tensor map of ${dtype}`),
    );
    expect(refusal).toMatch(/line \d+/);
  });
});

describe('what the device refuses', () => {
  const run = (map: TensorMapArgument, kernel: HopperKernel) =>
    refusalOf(device, kernel, { arguments: [map, OUT], buffers: { in: words(64), out: 256 } });
  const plain = { dtype: 'i32', globalDim: [16, 4], boxDim: [8, 4] } as const;
  const map = (part: Partial<TensorMapArgument> = {}) =>
    tensorMap({ ...plain, globalDim: [...plain.globalDim], boxDim: [...plain.boxDim], ...part }, 4);

  const interleaved = {
    ...{ interleave: '32B', globalDim: [16, 2, 2], globalStridesBytes: [64, 128] },
    ...{ boxDim: [8, 1, 1], elementStrides: [1, 1, 1] },
  };

  it.each([
    [{ globalStridesBytes: [72] }, 'launch-failed: argument 0 of kernel: no tensor map of in: globalStridesBytes [72]'],
    [{ boxDim: [3, 4] }, 'launch-failed: argument 0 of kernel: no tensor map of in: a row of its box has 12 bytes'],
    [{ boxDim: [16, 4], swizzle: '32B' }, 'a row of its box has 64 bytes, more than the swizzle'],
    [{ fill: 'nan' }, 'i32 has no NaN to fill with'],
    [{ interleave: '16B' }, 'it has 2 axes, and interleave 16B takes 3 to 5'],
    [{ ...interleaved, boxDim: [3, 1, 1] }, 'a row of its box has 12 bytes, not a multiple of 16'],
    [{ ...interleaved, globalStridesBytes: [48, 144] }, 'globalStridesBytes [48, 144] are not multiples of 32'],
    [
      { ...interleaved, boxDim: [256, 256, 1] },
      'launch-failed: argument 0 of kernel: no tensor map of in: the elements of its box have 262144 bytes, more than 233472',
    ],
  ] as const)('%o', async (part, message) => {
    expect(await run(map(part as Partial<TensorMapArgument>), fetching(2, [0, 0], 128))).toContain(message);
  });

  it('a map of a tensor larger than its buffer, with the buffer and the offset', async () => {
    const refusal = await run(map({ globalDim: [16, 40] }), fetching(2, [0, 8], 128));
    expect(refusal).toMatch(/^unsafe: .*out-of-bounds global read .*offset 512 of buffer in, which has 256 bytes/);
  });

  it('a copy of other axes than the map has, and an address where no map lies', async () => {
    expect(await run(map(), fetching(3, [0, 0, 0], 128))).toContain('a copy of 3 axes through a tensor map of 2');
    const kernel = fetching(2, [0, 0], 128);
    const elsewhere = { ...kernel, body: kernel.body.replace('cvta.param.u64 %rd2, %rd1', 'ld.param.u64 %rd2, [out]') };
    expect(await run(map(), elsewhere)).toMatch(/^unsafe: .*no tensor map lies there/);
  });

  it('a box that begins between multiples of 16 bytes, in either direction', async () => {
    for (const at of [1, 2, 6, -1])
      expect(await run(map(), fetching(2, [at, 0], 128))).toMatch(
        new RegExp(
          `^unsafe: .*a box that begins at element ${at} of the innermost axis, which is byte ${4 * at} of a row`,
        ),
      );
    expect(await run(map(), fetching(2, [-4, 1], 128))).toBe('passed');
    const out = fetching(2, [4, 0], 128);
    const sent = {
      ...out,
      body: `mov.u32 %r10, smem; mov.b64 %rd1, map; cvta.param.u64 %rd2, %rd1;
      cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {2, 0}], [%r10];`,
    };
    expect(await run(map(), sent)).toMatch(/^unsafe: .*begins at element 2 of the innermost axis/);
  });

  it('a box that goes out from before its tensor, along any axis', async () => {
    const sent = (at: readonly number[], opcode = 'cp.async.bulk.tensor') =>
      refusalOf(device, reducing('add', 2, at, 128, opcode), {
        arguments: [map({ buffer: 'out' }), 'in'],
        buffers: { in: 128, out: 256 },
      });
    expect(await sent([-4, 0])).toMatch(
      /^unsafe: .*a box that goes out from before its tensor: it begins at -4 along axis 0/,
    );
    expect(await sent([0, -1])).toMatch(
      /^unsafe: .*a box that goes out from before its tensor: it begins at -1 along axis 1/,
    );
    expect(await sent([16, -1])).toMatch(/^unsafe: .*begins at -1 along axis 1/);
    expect(await sent([0, -1], REDUCE)).toMatch(/^unsafe: .*begins at -1 along axis 1/);
    for (const at of [
      [12, 3],
      [16, 4],
    ])
      expect(await sent(at)).toBe('passed');
  });

  it('im2col by its name', async () => {
    const kernel = fetching(3, [0, 0, 0], 128);
    const text = kernel.body.replace('.tile.', '.im2col.').replace('[%r11];\nothers', '[%r11], {0};\nothers');
    expect(await run(map(), { ...kernel, body: text })).toMatch(/^unsupported: .*im2col/);
  });
});

/** Images as N, C/8, H, W, C%8: a slice has eight channels of halves, 16 bytes. Sizes are of W, H, C/8 and N. */
describe('a box of an interleaved tensor', () => {
  const SLICE_HALVES = 8;
  const size = [10, 4, 3, 2];
  const part = [8, 3, 2, 2];
  const map = (more: Partial<TensorMapArgument> = {}) =>
    tensorMap(
      {
        ...{ dtype: 'f16', globalDim: size, boxDim: part, interleave: '16B' },
        globalStridesBytes: [1, 2, 3].map((axes) => volume(size.slice(0, axes)) * 16),
        ...more,
      },
      2,
    );
  const halves = Uint16Array.from({ length: volume(size) * SLICE_HALVES }, (_, i) => i + 1);
  /** Eight halves of the slice at these indices, or what stands outside. */
  const slice = (index: readonly number[], outside: number): number[] => {
    const at = elementAt(size, index) - 1;
    return Array.from({ length: SLICE_HALVES }, (_, i) => (at < 0 ? outside : at * SLICE_HALVES + i + 1));
  };
  /** A box has one slice of channels, whatever boxDim says of that axis. */
  const slices = (at: readonly number[], [w, h, , n] = part, step = 1) =>
    [...indicesOf([Math.ceil(w! / step), h!, 1, n!])].map(([x, ...others]) =>
      [x! * step, ...others].map((i, axis) => at[axis]! + i),
    );

  const fetchedHalves = async (given: TensorMapArgument, at: readonly number[], bytes: number) => {
    const contents = await outputOf(device, fetching(4, at, bytes), {
      ...{ arguments: [given, OUT], buffers: { in: halves, out: bytes } },
    });
    return [...new Uint16Array(contents.buffer, contents.byteOffset, bytes / 2)];
  };

  it.each([
    ['inside', [0, 0, 0, 0]],
    ['of other channels', [1, 1, 2, 0]],
    ['across the upper bounds', [7, 2, 1, 1]],
    ['across the lower bounds', [-3, -1, 0, -1]],
    ['beyond the channels', [0, 0, 3, 0]],
  ])('arrives, with NaNs outside of the tensor: %s', async (_, at) => {
    const tile = await fetchedHalves(map({ fill: 'nan' }), at, 8 * 3 * 2 * 16);
    expect(tile).toEqual(slices(at).flatMap((index) => slice(index, 0x7ff7)));
  });

  it('leaves slices out along the innermost axis, too', async () => {
    const given = map({ elementStrides: [3, 1, 1, 1] });
    const tile = await fetchedHalves(given, [-3, 0, 1, 0], 3 * 3 * 2 * 16);
    expect(tile).toEqual(slices([-3, 0, 1, 0], part, 3).flatMap((index) => slice(index, 0)));
  });

  it('goes out to the tensor, and not beyond', async () => {
    const at = [5, 2, 1, 1];
    const bytes = 8 * 3 * 2 * 16;
    const contents = await outputOf(device, reducing('', 4, at, bytes, 'cp.async.bulk.tensor'), {
      arguments: [map({ buffer: 'out' }), 'in'],
      buffers: { in: halves, out: halves.byteLength },
    });
    const expected = new Uint16Array(halves.length);
    for (const [number, index] of slices(at).entries()) {
      const place = elementAt(size, index) - 1;
      if (place >= 0)
        for (let i = 0; i < SLICE_HALVES; i++) expected[place * SLICE_HALVES + i] = halves[number * SLICE_HALVES + i]!;
    }
    expect([...new Uint16Array(contents.buffer, contents.byteOffset, halves.length)]).toEqual([...expected]);
  });
});

describe('a wait that can never end', () => {
  it('says who waits for what', async () => {
    const map = tensorMap({ dtype: 'i32', globalDim: [8, 4], boxDim: [8, 4] }, 4);
    const refusal = await refusalOf(device, fetching(2, [0, 0], 128, 192), {
      arguments: [map, OUT],
      buffers: { in: words(32), out: 128 },
    });
    expect(refusal).toMatch(
      /^unsafe: kernel: no thread can go on: thread \(\d+, 0, 0\) waits for phase 0 of the mbarrier at shared address 32768, which lacks 64 bytes of copies/,
    );
  });
});
