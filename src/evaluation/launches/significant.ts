import type { PlannedBuffer, SignificantPart } from '../../core/launch-plan.ts';

type Part = Pick<PlannedBuffer, 'shape' | 'significant'>;

/** The elements of a buffer that holds lengths. */
export type LengthsOf = (buffer: string) => ArrayLike<number>;

/** One byte an element, 1 where its value does not matter; undefined where all matter. */
export function insignificantElements(
  { shape, significant }: Part,
  lengthsOf: LengthsOf,
): Uint8Array<ArrayBuffer> | undefined {
  if (!significant) return undefined;
  const { axis } = significant;
  const product = (extents: readonly number[]): number => extents.reduce((all, extent) => all * extent, 1);
  const [lists, extent, inner] = [product(shape.slice(0, axis)), shape[axis]!, product(shape.slice(axis + 1))];
  const lengths = lengthsIn(significant, lists, lengthsOf);
  const marks = new Uint8Array(lists * extent * inner);
  for (let list = 0; list < lists; list++) {
    const start = list * extent * inner;
    // A kernel's own lengths may be any number.
    const length = Math.min(Math.max(lengths[list]! || 0, 0), extent);
    marks.fill(1, start + Math.floor(length) * inner, start + extent * inner);
  }
  return marks;
}

const lengthsIn = ({ first }: SignificantPart, lists: number, lengthsOf: LengthsOf): ArrayLike<number> =>
  typeof first === 'number' ? new Array<number>(lists).fill(first) : lengthsOf(first);

/** Zeros in place of packed elements that do not matter, so that runs differ only in others. */
export function clearInsignificant(elements: Uint8Array, marks: Uint8Array): Uint8Array {
  const cleared = elements.slice();
  const size = elements.length / marks.length;
  for (let i = 0; i < marks.length; i++) if (marks[i] === 1) cleared.fill(0, i * size, (i + 1) * size);
  return cleared;
}
