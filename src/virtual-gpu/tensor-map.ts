import { DTYPES, type DType, isFloating, sizeOfDType } from '../core/dtype.ts';
import type { PlannedArgument } from '../core/launch-plan.ts';
import { numbersBelow, product } from '../core/values.ts';

export type TensorMapArgument = Extract<PlannedArgument, { kind: 'tensor-map' }>;

/** What a tensor copy needs of a map. Innermost axis first. */
export interface TensorMap {
  /** Offset in device memory. */
  readonly start: number;
  readonly dtype: DType;
  /** Bytes of what the innermost axis counts: an element, or a slice of an interleaved tensor. */
  readonly itemBytes: number;
  readonly dimensions: readonly number[];
  /** From one index to the next, in bytes; the innermost is an item's size. */
  readonly strides: readonly number[];
  /** Items. 1 along the slices of an interleaved tensor, whatever the map says. */
  readonly box: readonly number[];
  /** 1 along the innermost axis of a tensor that is not interleaved. */
  readonly elementStrides: readonly number[];
  /** Bytes of a swizzled row: 32, 64 or 128; 0 for none. */
  readonly swizzleBytes: number;
  /** Bytes of an element outside of the tensor, repeated. */
  readonly fill: Uint8Array;
}

export const TENSOR_MAP_BYTES = 128;

const SWIZZLE_BYTES: Readonly<Record<string, number>> = { none: 0, '32B': 32, '64B': 64, '128B': 128 };

/** NaNs that the copy engine writes outside of a tensor. Source: docs/results/h200-instructions.json. */
const NANS: Partial<Record<DType, readonly number[]>> = {
  f16: [0xf7, 0x7f],
  bf16: [0xf7, 0x7f],
  f32: [0xf7, 0x7f, 0xf7, 0x7f],
  f64: [0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f],
};

/** Bytes of a slice: what lies side by side in an interleaved tensor. */
const SLICE_BYTES: Readonly<Record<string, number>> = { none: 0, '16B': 16, '32B': 32 };
/** A row of a box consists of pieces of so many bytes, if elements are counted. Addresses and strides are multiples of them, too. */
const ROW_PIECE = 16;
/** Bytes of a box, if elements are counted: one a step, and none for what is left of a step. */
const MOST_BOX_BYTES = 228 * 1024;

/**
 * Why the driver would not encode a map. Sources: CUDA Driver API, cuTensorMapEncodeTiled, and docs/results/h200-interleaved-maps.json:
 * that driver takes every swizzle with interleave 32B, though its documentation asks for 32B.
 */
export function refuseTensorMap(map: TensorMapArgument, start: number): string | undefined {
  const bytes = sizeOfDType(map.dtype);
  const rank = map.globalDim.length;
  const row = map.boxDim[0]! * bytes;
  const swizzle = SWIZZLE_BYTES[map.swizzle]!;
  const isPlain = map.interleave === 'none';
  const alignment = Math.max(ROW_PIECE, SLICE_BYTES[map.interleave]!);
  const boxBytes = product(map.boxDim.map((size, axis) => Math.floor(size / map.elementStrides[axis]!))) * bytes;
  const problems: [boolean, string][] = [
    [rank < 1 || rank > 5, `it has ${rank} axes, not 1 to 5`],
    [!isPlain && rank < 3, `it has ${rank} axes, and interleave ${map.interleave} takes 3 to 5`],
    [start % alignment !== 0, `its buffer lies at a multiple of ${start & -start}, not of ${alignment}`],
    [
      map.globalStridesBytes.some((stride) => stride % alignment !== 0),
      `globalStridesBytes [${map.globalStridesBytes.join(', ')}] are not multiples of ${alignment}`,
    ],
    [row % ROW_PIECE !== 0, `a row of its box has ${row} bytes, not a multiple of ${ROW_PIECE}`],
    [isPlain && swizzle > 0 && row > swizzle, `a row of its box has ${row} bytes, more than the swizzle's ${swizzle}`],
    [boxBytes > MOST_BOX_BYTES, `the elements of its box have ${boxBytes} bytes, more than ${MOST_BOX_BYTES}`],
    [map.fill === 'nan' && !isFloating(map.dtype), `${map.dtype} has no NaN to fill with`],
  ];
  return problems.find(([holds]) => holds)?.[1];
}

/** A part of the interface that virtual GPUs lack. */
export function unsupportedTensorMap({ interleave, swizzle, boxDim, dtype }: TensorMapArgument): string | undefined {
  const row = boxDim[0]! * sizeOfDType(dtype);
  const span = SWIZZLE_BYTES[swizzle]!;
  return interleave === 'none' && span > 0 && row !== span
    ? `a box ${row} bytes wide with a swizzle of ${swizzle}`
    : undefined;
}

/** Fields of an encoded map, in bytes: our own, since NVIDIA publishes none. */
const AT = { magic: 0, check: 4, start: 8, rank: 12, dtype: 13, swizzle: 14, fill: 15, dimensions: 16 } as const;
const STRIDES = AT.dimensions + 5 * 4;
const BOX = STRIDES + 4 * 6;
const ELEMENT_STRIDES = BOX + 5 * 2;
const FILL = ELEMENT_STRIDES + 5;
const SLICE = FILL + 8;
const MAGIC = 0x50414d54;

export function encodeTensorMap(map: TensorMapArgument, start: number): Uint8Array {
  const bytes = new Uint8Array(TENSOR_MAP_BYTES);
  const view = new DataView(bytes.buffer);
  const nan = map.fill === 'nan' ? NANS[map.dtype]! : [];
  view.setUint32(AT.magic, MAGIC, true);
  view.setUint32(AT.start, start, true);
  view.setUint8(AT.rank, map.globalDim.length);
  view.setUint8(AT.dtype, DTYPES.indexOf(map.dtype));
  view.setUint8(AT.swizzle, SWIZZLE_BYTES[map.swizzle]!);
  view.setUint8(AT.fill, nan.length);
  bytes.set(nan, FILL);
  map.globalDim.forEach((size, axis) => {
    view.setUint32(AT.dimensions + 4 * axis, size - 1, true);
  });
  map.globalStridesBytes.forEach((stride, axis) => {
    view.setUint32(STRIDES + 6 * axis, stride % 2 ** 32, true);
    view.setUint16(STRIDES + 6 * axis + 4, Math.floor(stride / 2 ** 32), true);
  });
  map.boxDim.forEach((size, axis) => {
    view.setUint16(BOX + 2 * axis, size, true);
  });
  const slice = SLICE_BYTES[map.interleave]!;
  view.setUint8(SLICE, slice);
  bytes.set(map.elementStrides, ELEMENT_STRIDES);
  // Of a tensor that is not interleaved, every element along the innermost axis is taken. Source: CUDA Driver API,
  // cuTensorMapEncodeTiled. Of an interleaved one, a box has one slice of channels: the last axis but one, whose place in
  // the box has no effect. Source: docs/results/h200-interleaved-maps.json.
  if (slice === 0) bytes[ELEMENT_STRIDES] = 1;
  else view.setUint16(BOX + 2 * (map.boxDim.length - 2), 1, true);
  view.setUint32(AT.check, checksum(bytes), true);
  return bytes;
}

/** Undefined for bytes that are no map, or were changed. */
export function decodeTensorMap(bytes: Uint8Array): TensorMap | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, TENSOR_MAP_BYTES);
  if (view.getUint32(AT.magic, true) !== MAGIC || view.getUint32(AT.check, true) !== checksum(bytes)) return undefined;
  const axes = numbersBelow(view.getUint8(AT.rank));
  const dtype = DTYPES[view.getUint8(AT.dtype)]!;
  const itemBytes = view.getUint8(SLICE) || sizeOfDType(dtype);
  const strideOf = (axis: number): number =>
    view.getUint32(STRIDES + 6 * axis, true) + view.getUint16(STRIDES + 6 * axis + 4, true) * 2 ** 32;
  const fillBytes = view.getUint8(AT.fill);
  return {
    start: view.getUint32(AT.start, true),
    dtype,
    itemBytes,
    dimensions: axes.map((axis) => view.getUint32(AT.dimensions + 4 * axis, true) + 1),
    strides: axes.map((axis) => (axis === 0 ? itemBytes : strideOf(axis - 1))),
    box: axes.map((axis) => view.getUint16(BOX + 2 * axis, true)),
    elementStrides: axes.map((axis) => bytes[ELEMENT_STRIDES + axis]!),
    swizzleBytes: view.getUint8(AT.swizzle),
    fill: fillBytes > 0 ? bytes.slice(FILL, FILL + fillBytes) : new Uint8Array(itemBytes),
  };
}

/** FNV-1a over all bytes but the checksum's own. */
function checksum(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < TENSOR_MAP_BYTES; at++)
    if (at < AT.check || at >= AT.start) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash >>> 0;
}
