import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { boxBytes, partsOfBox, swizzled } from '../../../src/virtual-gpu/runtime/bulk-copies/parts.ts';
import {
  decodeTensorMap,
  encodeTensorMap,
  refuseTensorMap,
  type TensorMap,
} from '../../../src/virtual-gpu/tensor-map.ts';
import { loadCode, ptxCode, tryLaunch } from '../../support/launch/launch-kernel.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { byThread0, kernelText, loadShared, MAP_PARAMETER, POINTER, storeShared, waitFor } from '../hopper/ptx.ts';
import {
  argumentOf,
  chunksOfLoad,
  chunksOfStore,
  type ProbedBox,
  type ProbedCopies,
  type ProbedMap,
  readInterleavedMaps,
  type Sweep,
  valuesOf,
} from './interleaved-maps.ts';

const CHUNK = 16;
/** Where the tensors begin, in chunks: boxes reach to both sides of it. */
const START = 2 ** 24;

const recording = readInterleavedMaps();
const nameOf = ({ slice, dtype, globalDim, globalStridesBytes, boxDim, elementStrides, swizzle, fill }: ProbedMap) =>
  `${slice}B ${dtype} ${globalDim.join('×')}, strides ${globalStridesBytes.join(' ')}, box ${boxDim.join('×')}, steps ${elementStrides.join(' ')}, swizzle ${swizzle}, ${fill}`;

const refusalOf = (map: ProbedMap): string | undefined => {
  const argument = argumentOf(map);
  return argument ? refuseTensorMap(argument, START * CHUNK + map.startBytes) : 'no name for this swizzle';
};
const decoded = (map: ProbedMap): TensorMap =>
  decodeTensorMap(encodeTensorMap(argumentOf(map)!, START * CHUNK + map.startBytes))!;

/** The chunk that the probe shows at place `index`: it undoes the swizzle by lines of eight chunks. */
const shownFrom = (index: number, swizzle: number): number => index ^ ((index >> 3) & (2 ** swizzle - 1));

/** What each chunk of shared memory holds after a load at `at`, in the probe's order: a chunk of the tensor, or undefined outside. */
function loadedChunks(copies: ProbedCopies, at: readonly number[]): (number | undefined)[] {
  const map = decoded(copies);
  const places = new Map<number, number | undefined>();
  for (const { global, shared, bytes } of partsOfBox(map, at, 0))
    for (let by = 0; by < bytes; by += CHUNK)
      places.set(
        swizzled(shared + by, map.swizzleBytes) / CHUNK,
        global === undefined ? undefined : (global + by - copies.startBytes) / CHUNK - START,
      );
  expect(places.size).toBe(boxBytes(map) / CHUNK);
  return Array.from(places.keys(), (_, index) => {
    const place = shownFrom(index, copies.swizzle);
    expect(places.has(place)).toBe(true);
    return places.get(place);
  });
}

/** Zero, or the NaN that the map's type repeats. */
const fillOf = ({ fill }: ProbedMap): string => (fill === 'nan' ? '7ff77ff7' : '0');

describe(`interleaved maps on ${recording.device}`, () => {
  it('are refused as its driver refuses them', () => {
    const wrong = recording.copies.filter(
      (copies) => (refusalOf(copies) !== undefined) !== (copies.isRefused ?? false),
    );
    expect(wrong.map((copies) => `${nameOf(copies)}: ${refusalOf(copies)}`)).toEqual([]);
    expect(recording.copies.filter(({ isRefused }) => isRefused).length).toBeGreaterThan(100);
  });

  it('take the values of each field that its driver takes, within the limits of a launch plan', () => {
    let compared = 0;
    const wrong = recording.sweeps.flatMap(({ taken, ...map }) =>
      taken.flatMap((sweep) => {
        const [field, axis, unit, from, to, values] = sweep;
        const known = valuesOf(values);
        return Array.from({ length: to - from + 1 }, (_, i) => from + i)
          .filter((value) => {
            const varied = withValue(map, field, axis, unit * value);
            if (!varied) return false;
            compared++;
            return (refusalOf(varied) === undefined) !== known.has(value);
          })
          .map((value) => `${nameOf(map)}: ${field} ${axis} ${unit * value}`);
      }),
    );
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(100_000);
  });

  it.each([
    ['load', 1400],
    ['store', 180],
    ['add', 100],
  ] as const)('every recorded %s copies those chunks, in that order', (operation, atLeast) => {
    const own = recording.copies.filter((copies) => copies.operation === operation);
    const wrong = own.flatMap((copies) =>
      copies.boxes.filter((box) => !agrees(copies, box)).map(({ at }) => `${nameOf(copies)} at ${at.join(' ')}`),
    );
    expect(wrong).toEqual([]);
    expect(own.reduce((sum, { boxes }) => sum + boxes.length, 0)).toBeGreaterThan(atLeast);
  });

  it('tell the mbarrier of all bytes that land, outside of the tensor, too', () => {
    const counts = recording.copies.flatMap((copies) =>
      copies.boxes.flatMap(({ counted }) => (counted === undefined ? [] : [[boxBytes(decoded(copies)), counted]])),
    );
    expect(counts.length).toBeGreaterThan(50);
    for (const [own, counted] of counts) expect(own).toBe(counted);
  });
});

function agrees(copies: ProbedCopies, { at, got, stops }: ProbedBox): boolean {
  // What virtual:h200 says to these is asked below.
  const isBefore = copies.operation !== 'load' && at.some((coordinate) => coordinate < 0);
  if (stops || isBefore) return stops === isBefore;
  const own = loadedChunks(copies, at);
  if (copies.operation === 'load') {
    const wanted = chunksOfLoad(got!);
    return wanted.length === own.length && wanted.every((chunk, i) => chunk === (own[i] ?? fillOf(copies)));
  }
  const wanted = chunksOfStore(got!);
  const inside = own.flatMap((chunk, i) => (chunk === undefined ? [] : [[chunk, i] as const]));
  return wanted.size === inside.length && inside.every(([chunk, i]) => wanted.get(chunk) === i);
}

/** What the program adds where a sweep asks for more axes than the map has. */
const MORE_AXES = { globalDim: [3, 3], boxDim: [2, 2], elementStrides: [1, 1], slices: [8192, 65_536] };
/** Most that a launch plan takes; the least is 1, though the driver takes strides of 0. */
const MOST = { globalDim: 2 ** 32, boxDim: 256, elementStrides: 8, globalStridesBytes: 2 ** 40 };

/** The map with another value of a field; undefined for what no launch plan can say. */
function withValue(map: ProbedMap, field: Sweep[0], axis: number, value: number): ProbedMap | undefined {
  switch (field) {
    case 'axes':
      return value === 0 ? undefined : withAxes(map, value);
    case 'swizzle':
      return value < 4 ? { ...map, swizzle: value } : undefined;
    case 'fill':
      return value < 2 ? { ...map, fill: value === 1 ? 'nan' : 'zeros' } : undefined;
    case 'startBytes':
      return { ...map, startBytes: value };
    default:
      return value < 1 || value > MOST[field] ? undefined : { ...map, [field]: map[field].with(axis, value) };
  }
}

function withAxes(map: ProbedMap, axes: number): ProbedMap {
  const strides = [...map.globalStridesBytes, ...MORE_AXES.slices.map((slices) => slices * map.slice)];
  const upTo = (field: 'globalDim' | 'boxDim' | 'elementStrides') =>
    [...map[field], ...MORE_AXES[field]].slice(0, axes);
  return {
    ...map,
    ...{ globalDim: upTo('globalDim'), boxDim: upTo('boxDim'), elementStrides: upTo('elementStrides') },
    globalStridesBytes: strides.slice(0, axes - 1),
  };
}

/** The program's contents of shared and of device memory: words that count from these on. */
const TENSOR_WORD = 2 ** 24;
const SHARED_WORD = 0x3c003c00;
/** What every word of the tensor is before a store or an add: no sum of words carries into the next, and none of numbers is rounded. */
const emptyWord = ({ operation, dtype }: ProbedCopies): number =>
  operation === 'store' ? 0xdeadbeef : /^[ui]/.test(dtype) ? 5 : 0;
const BARRIER = 40_960;
const COORDINATES = ['c0', 'c1', 'c2', 'c3', 'c4'];

/** Copies one box: `out` is what shared memory holds in the end, or `in` what it holds at first. */
function kernelOf({ operation, globalDim, ...copies }: ProbedCopies): string {
  const axes = globalDim.length;
  const bytes = boxBytes(decoded({ globalDim, ...copies }));
  const place = `{${COORDINATES.slice(0, axes).map((_, axis) => `%r${20 + axis}`)}}`;
  const start = `
  mov.u32 %r10, smem; add.u32 %r11, %r10, ${BARRIER};
  mov.b64 %rd1, map; cvta.param.u64 %rd2, %rd1;
  ${COORDINATES.map((name, axis) => `ld.param.u32 %r${20 + axis}, [${name}];`).join(' ')}`;
  const load = `${start}
  ${byThread0(`
  mbarrier.init.shared::cta.b64 [%r11], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], ${bytes};
  cp.async.bulk.tensor.${axes}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r10], [%rd2, ${place}], [%r11];`)}
  bar.sync 0;
  ${waitFor('%r11', 0, 'again')}
  ${storeShared(bytes)}`;
  const [opcode, reduction] = operation === 'add' ? ['cp.reduce', '.add'] : ['cp', ''];
  const store = `
  ${loadShared(bytes)}${start}
  ${byThread0(`
  ${opcode}.async.bulk.tensor.${axes}d.global.shared::cta${reduction}.tile.bulk_group [%rd2, ${place}], [%r10];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;`)}`;
  return kernelText({
    parameters: [
      MAP_PARAMETER('map'),
      POINTER(operation === 'load' ? 'out' : 'in'),
      ...COORDINATES.map((name) => `.param .u32 ${name}`),
    ],
    body: operation === 'load' ? load : store,
  });
}

describe('on virtual:h200, a recorded box', () => {
  let device: Device;
  const modules = new Map<string, Promise<LoadedModule>>();
  beforeAll(async () => {
    device = await openDevice('virtual:h200', { threads: 1 });
  });
  afterAll(() => device.close());

  const counting = (bytes: number, from: number) => Uint32Array.from({ length: bytes / 4 }, (_, i) => from + i);
  /** Bytes that the map reaches. */
  const spanOf = (map: ProbedMap): number => {
    const { dimensions, strides, itemBytes } = decoded(map);
    return strides.reduce((sum, stride, axis) => sum + (dimensions[axis]! - 1) * stride, itemBytes);
  };

  async function launched(copies: ProbedCopies, { at }: ProbedBox) {
    const text = kernelOf(copies);
    const module = modules.get(text) ?? loadCode(device, { ...ptxCode(text), architecture: 'sm_90a' });
    modules.set(text, module);
    const isLoad = copies.operation === 'load';
    const bytes = boxBytes(decoded(copies));
    return tryLaunch(device, await module, {
      ...{ block: 128, dynamicSharedBytes: BARRIER + 16 },
      arguments: [
        argumentOf(copies)!,
        isLoad ? 'out' : 'in',
        ...COORDINATES.map((_, axis) => ({ i32: at[axis] ?? 0 })),
      ],
      buffers: isLoad
        ? { tensor: counting(spanOf(copies), TENSOR_WORD), out: bytes }
        : { tensor: new Uint32Array(spanOf(copies) / 4).fill(emptyWord(copies)), in: counting(bytes, SHARED_WORD) },
    });
  }
  const wordsOf = (contents: Uint8Array<ArrayBuffer> | undefined) => new Uint32Array(contents!.buffer);

  async function check(copies: ProbedCopies, box: ProbedBox): Promise<void> {
    const outcome = await launched(copies, box);
    if (box.stops) {
      expect(outcome.ok ? 'passed' : `${outcome.status}: ${outcome.message}`).toMatch(
        /^unsafe: .*a box that goes out from before its tensor: it begins at -\d+ along axis \d/,
      );
      return;
    }
    if (!outcome.ok) throw new Error(outcome.message);
    if (copies.operation === 'load') {
      const wanted = chunksOfLoad(box.got!).map((chunk) =>
        typeof chunk === 'number' ? TENSOR_WORD + 4 * chunk : { word: Number.parseInt(chunk, 16) },
      );
      const out = wordsOf(outcome.contents.out);
      const got = wanted.map((_, index) => [...out.subarray(4 * shownFrom(index, copies.swizzle)).subarray(0, 4)]);
      expect(got).toEqual(
        wanted.map((from) => (typeof from === 'number' ? [0, 1, 2, 3].map((i) => from + i) : Array(4).fill(from.word))),
      );
      return;
    }
    const added = copies.operation === 'add' ? emptyWord(copies) : 0;
    const wanted = new Uint32Array(spanOf(copies) / 4).fill(emptyWord(copies));
    for (const [chunk, from] of chunksOfStore(box.got!))
      for (let i = 0; i < 4; i++) wanted[4 * chunk + i] = SHARED_WORD + 4 * shownFrom(from, copies.swizzle) + i + added;
    const stored = wordsOf(outcome.contents.tensor);
    expect(wanted.findIndex((word, i) => word !== stored[i])).toBe(-1);
  }

  const boxes = recording.copies
    .filter(({ startBytes }) => startBytes === 0)
    .flatMap((copies) =>
      copies.boxes.map(
        (box) => [`${copies.operation} ${nameOf(copies)}, at ${box.at.join(' ')}`, copies, box] as const,
      ),
    );
  sampled('boxes of interleaved maps', boxes, {
    oneIn: 40,
    always: ([, , { stops }]) => stops === true,
    kindOf: ([, { operation, slice }, { stops }]) => `${operation} ${slice} ${stops}`,
  })('%s', (_, copies, box) => check(copies, box));
});
