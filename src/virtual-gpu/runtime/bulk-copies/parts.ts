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
/** Where the numbers of a piece, and of a row of 128 bytes, begin in an address. */
export const [CHUNK_SHIFT, ROW_SHIFT] = [4, 7] as const;

/** Those bits of a row's number that a swizzle XORs with the number of a chunk. */
export const chunkBitsOf = (swizzleBytes: number): number => Math.max(swizzleBytes, CHUNK_BYTES) / CHUNK_BYTES - 1;

/** Where a chunk of a swizzled tile lies: the bits of its address that count chunks are XORed with those that count rows of 128 bytes. */
export const swizzled = (address: number, swizzleBytes: number): number =>
  address ^ (((address >>> ROW_SHIFT) & chunkBitsOf(swizzleBytes)) << CHUNK_SHIFT);

/** Bytes of a map's box in shared memory. */
export const boxBytes = ({ box, elementStrides, itemBytes }: TensorMap): number =>
  box.reduce((product, size, axis) => product * Math.ceil(size / elementStrides[axis]!), itemBytes);

/** The box at `coordinates`, in the order of shared memory from `shared` on. */
export function partsOfBox(map: TensorMap, coordinates: readonly number[], shared: number): Part[] {
  const { dimensions, strides, box, elementStrides, start } = map;
  const counts = box.map((size, axis) => Math.ceil(size / elementStrides[axis]!));
  const index = new Array<number>(box.length).fill(0);
  const [width, step] = [counts[0]!, elementStrides[0]!];
  /** Items of a row that lie side by side in both memories. */
  const run = step === 1 ? width : 1;
  const rowBytes = width * map.itemBytes;
  const parts: Part[] = [];
  for (let to = shared; ; to += rowBytes) {
    let at = start + coordinates[0]! * strides[0]!;
    let isInside = true;
    for (let axis = 1; axis < box.length; axis++) {
      const coordinate = coordinates[axis]! + index[axis]! * elementStrides[axis]!;
      isInside &&= coordinate >= 0 && coordinate < dimensions[axis]!;
      at += coordinate * strides[axis]!;
    }
    if (isInside)
      for (let i = 0; i < width; i += run) {
        const by = i * map.itemBytes;
        pushRow(parts, map, { first: coordinates[0]! + i * step, width: run, at: at + by * step, shared: to + by });
      }
    else parts.push({ global: undefined, shared: to, bytes: rowBytes });
    let axis = 1;
    while (axis < box.length && ++index[axis]! === counts[axis]!) index[axis++] = 0;
    if (axis >= box.length) return parts;
  }
}

/** `width` items from index `first` of the innermost axis on, in device memory at `at`. */
function pushRow(
  parts: Part[],
  { itemBytes, dimensions }: TensorMap,
  { first, width, at, shared }: { first: number; width: number; at: number; shared: number },
): void {
  const within = (count: number): number => Math.min(width, Math.max(0, count));
  const begin = within(-first);
  const end = Math.max(begin, within(dimensions[0]! - first));
  const push = (from: number, until: number, global?: number): void => {
    if (from < until) parts.push({ global, shared: shared + from * itemBytes, bytes: (until - from) * itemBytes });
  };
  push(0, begin);
  push(begin, end, at + begin * itemBytes);
  push(end, width);
}
