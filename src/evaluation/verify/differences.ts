import { sizeOfDType } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { elementCountOf, multiIndexOf } from '../launches/layout.ts';
import { describeWhere } from '../oracle/describe-where.ts';

/** Output name → packed elements. */
export type Outputs = ReadonlyMap<string, Uint8Array>;

/** Elements of one output for which something holds. */
export interface Elements {
  readonly buffer: PlannedBuffer;
  readonly count: number;
  readonly first: number;
  /** One byte an element: 1 where it holds. */
  readonly marks: Uint8Array;
}

/** Counts the elements for which the predicate holds; `undefined` when there is none. */
export function elementsWhere(
  buffer: PlannedBuffer,
  predicate: (offset: number, size: number) => boolean,
): Elements | undefined {
  const size = sizeOfDType(buffer.dtype);
  const elementCount = elementCountOf(buffer);
  let count = 0;
  let first = -1;
  let marks: Uint8Array | undefined;
  for (let element = 0; element < elementCount; element++) {
    if (!predicate(element * size, size)) continue;
    if (count++ === 0) first = element;
    marks ??= new Uint8Array(elementCount);
    marks[element] = 1;
  }
  return marks && { buffer, count, first, marks };
}

/** The first output whose bits differ, with the differing elements. */
export function differingElements(
  outputs: readonly PlannedBuffer[],
  left: Outputs,
  right: Outputs,
): Elements | undefined {
  for (const buffer of outputs) {
    const [a, b] = [left.get(buffer.name)!, right.get(buffer.name)!];
    if (Buffer.compare(a, b) === 0) continue;
    return elementsWhere(buffer, (offset, size) => !equalAt(a, b, offset, size));
  }
  return undefined;
}

/** The number of elements that differ from `want` and equal `suspect`, and whether all differing ones do. */
export function elementsLike(
  outputs: readonly PlannedBuffer[],
  got: Outputs,
  want: Outputs,
  suspect: Outputs,
): (Elements & { readonly all: boolean }) | undefined {
  const differing = differingElements(outputs, got, want);
  if (!differing) return undefined;
  const { buffer } = differing;
  const [a, b, c] = [got.get(buffer.name)!, want.get(buffer.name)!, suspect.get(buffer.name)!];
  const alike = elementsWhere(buffer, (offset, size) => !equalAt(a, b, offset, size) && equalAt(a, c, offset, size));
  return alike && { ...alike, all: alike.count === differing.count };
}

/** e.g. `17 of 51 elements of Y`. */
export const countOf = ({ buffer, count }: Elements): string =>
  `${count} of ${elementCountOf(buffer)} elements of ${buffer.name}`;

/** e.g. `[2, 16]`. */
export const firstOf = ({ buffer, first }: Elements): string => `[${multiIndexOf(buffer.shape, first).join(', ')}]`;

/** e.g. `[2, 16]: all at columns ≥ 16`. */
export function placeOf(elements: Elements): string {
  const where = describeWhere(elements.buffer.shape, elements.marks);
  return where === undefined ? firstOf(elements) : `${firstOf(elements)}: ${where}`;
}

export function equalAt(left: Uint8Array, right: Uint8Array, offset: number, size: number): boolean {
  for (let i = offset; i < offset + size; i++) if (left[i] !== right[i]) return false;
  return true;
}
