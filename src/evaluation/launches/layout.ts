import { sizeOfDType } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';

/** The part of a planned buffer that defines the positions of its elements. */
export type Layout = Pick<PlannedBuffer, 'dtype' | 'shape' | 'strides' | 'bytes'>;

/** Number of logical elements: the product of the shape. */
export const elementCountOf = (layout: Layout): number => layout.shape.reduce((product, extent) => product * extent, 1);

/** Whether the elements lie in row-major order without gaps. */
export function isDense(layout: Layout): boolean {
  let expected = 1;
  for (let axis = layout.shape.length - 1; axis >= 0; axis--) {
    if (layout.shape[axis] !== 1 && layout.strides[axis] !== expected) return false;
    expected *= layout.shape[axis]!;
  }
  return layout.bytes === expected * sizeOfDType(layout.dtype);
}

/** Multi-index of a row-major element number, outermost first. */
export function multiIndexOf(shape: readonly number[], element: number): number[] {
  const index = new Array<number>(shape.length);
  let rest = element;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index[axis] = rest % shape[axis]!;
    rest = Math.floor(rest / shape[axis]!);
  }
  return index;
}

/** Elements that lie side by side: as many of the innermost axes as have no gaps, e.g. the columns of a row. */
interface Runs {
  readonly length: number;
  /** Where each run begins in the buffer, in elements, in row-major order. */
  readonly offsets: Float64Array;
}

function runsOf({ shape, strides }: Layout): Runs {
  let length = 1;
  let axes = shape.length;
  while (axes > 0 && (shape[axes - 1] === 1 || strides[axes - 1] === length)) length *= shape[--axes]!;
  let offsets = new Float64Array(1);
  for (let axis = 0; axis < axes; axis++) {
    const [extent, stride] = [shape[axis]!, strides[axis]!];
    const next = new Float64Array(offsets.length * extent);
    offsets.forEach((base, outer) => {
      for (let i = 0; i < extent; i++) next[outer * extent + i] = base + i * stride;
    });
    offsets = next;
  }
  return { length, offsets };
}

/** Visits the runs: where each lies in the buffer and among the packed elements, in bytes. */
function forEachRun(layout: Layout, visit: (at: number, packedAt: number, bytes: number) => void): void {
  const size = sizeOfDType(layout.dtype);
  const { length, offsets } = runsOf(layout);
  const runBytes = length * size;
  offsets.forEach((offset, run) => void visit(offset * size, run * runBytes, runBytes));
}

/** Bytes of the logical elements, row-major and packed, out of the buffer's bytes. */
export function packElements(layout: Layout, bytes: Uint8Array): Uint8Array {
  if (isDense(layout)) return bytes;
  const packed = new Uint8Array(elementCountOf(layout) * sizeOfDType(layout.dtype));
  forEachRun(layout, (at, packedAt, length) => packed.set(bytes.subarray(at, at + length), packedAt));
  return packed;
}

/** The buffer's bytes with these packed elements at their positions; bytes between elements are `padding`. */
export function spreadElements(layout: Layout, packed: Uint8Array, padding: number): Uint8Array {
  if (isDense(layout)) return packed;
  const bytes = new Uint8Array(layout.bytes).fill(padding);
  forEachRun(layout, (at, packedAt, length) => bytes.set(packed.subarray(packedAt, packedAt + length), at));
  return bytes;
}

/** First byte between elements that is not `padding` any more, or −1. */
export function firstChangedPaddingByte(layout: Layout, bytes: Uint8Array, padding: number): number {
  if (isDense(layout)) return -1;
  const isElement = new Uint8Array(layout.bytes);
  forEachRun(layout, (at, _packedAt, length) => isElement.fill(1, at, at + length));
  return bytes.findIndex((byte, i) => isElement[i] === 0 && byte !== padding);
}
