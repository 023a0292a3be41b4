import type { TensorMap } from '../../tensor-map.ts';

/** A stretch of a copy: bytes that lie side by side in both memories, but for the swizzle. */
export interface Part {
  /** Offset in device memory; undefined outside of a tensor. */
  readonly global: number | undefined;
  /** Offset in shared memory, before the swizzle. */
  readonly shared: number;
  readonly bytes: number;
}

/** Combines an element of shared memory with one of device memory, in place. */
export interface ElementReduction {
  readonly elementBytes: number;
  readonly apply: (to: DataView, at: number, from: DataView, fromAt: number) => void;
}

/** Shared memory is swizzled in pieces of so many bytes. */
export const CHUNK_BYTES = 16;

/** Where a chunk of a swizzled tile lies: the bits of its address that count chunks are XORed with those that count rows of 128 bytes. */
export const swizzled = (address: number, swizzleBytes: number): number =>
  address ^ (((address >>> 7) & (Math.max(swizzleBytes, CHUNK_BYTES) / CHUNK_BYTES - 1)) << 4);

/** Bytes of a map's box in shared memory. */
export const boxBytes = ({ box, elementStrides, elementBytes }: TensorMap): number =>
  box.reduce((product, size, axis) => product * Math.ceil(size / elementStrides[axis]!), elementBytes);

/** The box at `coordinates`, in the order of shared memory from `shared` on. */
export function* partsOfBox(map: TensorMap, coordinates: readonly number[], shared: number): Generator<Part> {
  const { dimensions, strides, box, elementStrides, start } = map;
  const counts = box.map((size, axis) => Math.ceil(size / elementStrides[axis]!));
  const index = new Array<number>(box.length).fill(0);
  const rowBytes = counts[0]! * map.elementBytes;
  for (let to = shared; ; to += rowBytes) {
    let at = start + coordinates[0]! * strides[0]!;
    let isInside = true;
    for (let axis = 1; axis < box.length; axis++) {
      const coordinate = coordinates[axis]! + index[axis]! * elementStrides[axis]!;
      isInside &&= coordinate >= 0 && coordinate < dimensions[axis]!;
      at += coordinate * strides[axis]!;
    }
    if (isInside) yield* partsOfRow(map, coordinates[0]!, at, to);
    else yield { global: undefined, shared: to, bytes: rowBytes };
    let axis = 1;
    while (axis < box.length && ++index[axis]! === counts[axis]!) index[axis++] = 0;
    if (axis >= box.length) return;
  }
}

/** A row that begins at index `first` of the innermost axis, in device memory at `at`. */
function* partsOfRow(map: TensorMap, first: number, at: number, shared: number): Generator<Part> {
  const { elementBytes, dimensions } = map;
  const width = map.box[0]!;
  const within = (count: number): number => Math.min(width, Math.max(0, count));
  const begin = within(-first);
  const end = within(dimensions[0]! - first);
  const to = (index: number): number => shared + index * elementBytes;
  const outside = (from: number, until: number): Part => ({
    global: undefined,
    shared: to(from),
    bytes: (until - from) * elementBytes,
  });
  if (end <= begin) {
    yield outside(0, width);
    return;
  }
  if (begin > 0) yield outside(0, begin);
  yield { global: at + begin * elementBytes, shared: to(begin), bytes: (end - begin) * elementBytes };
  if (end < width) yield outside(end, width);
}
