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

/** Offset of every logical element in the buffer, in elements; index is row-major. */
function elementOffsets(layout: Layout): Float64Array {
  let offsets = new Float64Array(1);
  layout.shape.forEach((extent, axis) => {
    const next = new Float64Array(offsets.length * extent);
    offsets.forEach((base, outer) => {
      for (let i = 0; i < extent; i++) next[outer * extent + i] = base + i * layout.strides[axis]!;
    });
    offsets = next;
  });
  return offsets;
}

/** Bytes of the logical elements, row-major and packed, out of the buffer's bytes. */
export function packElements(layout: Layout, bytes: Uint8Array): Uint8Array {
  if (isDense(layout)) return bytes;
  const size = sizeOfDType(layout.dtype);
  const offsets = elementOffsets(layout);
  const packed = new Uint8Array(offsets.length * size);
  offsets.forEach((offset, element) => {
    packed.set(bytes.subarray(offset * size, offset * size + size), element * size);
  });
  return packed;
}

/** The buffer's bytes with these packed elements at their positions; bytes between elements are `padding`. */
export function spreadElements(layout: Layout, packed: Uint8Array, padding: number): Uint8Array {
  if (isDense(layout)) return packed;
  const size = sizeOfDType(layout.dtype);
  const bytes = new Uint8Array(layout.bytes).fill(padding);
  elementOffsets(layout).forEach((offset, element) => {
    bytes.set(packed.subarray(element * size, element * size + size), offset * size);
  });
  return bytes;
}

/** First byte between elements that is not `padding` any more, or −1. */
export function firstChangedPaddingByte(layout: Layout, bytes: Uint8Array, padding: number): number {
  if (isDense(layout)) return -1;
  const size = sizeOfDType(layout.dtype);
  const isElement = new Uint8Array(layout.bytes);
  for (const offset of elementOffsets(layout)) isElement.fill(1, offset * size, offset * size + size);
  return bytes.findIndex((byte, i) => isElement[i] === 0 && byte !== padding);
}
