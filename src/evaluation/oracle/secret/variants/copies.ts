import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

/**
 * Copies that are none at a few places, for kernels that compare some places and take the rest for equal: every slice of the first axis is like the
 * first slice; most rows are like the first one of their tile; every part of a vector is like its first part.
 */
const COPIED = ['slices', 'rows', 'parts'] as const;

/**
 * One row in so many is its own, or about so many elements of a matrix or a vector, which hundreds of samples miss; sizes of tiles as powers of two;
 * and the parts.
 */
const COPY = {
  ownRow: 16,
  ownElements: 8,
  ownSize: 64,
  ownRowOfTile: 4,
  least: 3,
  sizes: 4,
  parts: [8, 4, 2, 3, 5],
} as const;

function copy(values: Float64Array, { buffer, stream, index, freedom, strength }: Treated): Float64Array {
  const { name, shape } = buffer;
  if (!freedom.isFree(name)) return values;
  const kind = COPIED[index]!;
  // What repeats within a sum makes roundings add up.
  if (kind !== 'slices' && freedom.longestRepeated(name) === 0) return values;
  const isOwn = (unit: number, one: number): boolean => stream.bits(1 + unit) % one === 0;
  const ownElement = Math.max(COPY.ownRow, Math.ceil(values.length / COPY.ownElements));
  const columns = columnsOf(buffer);
  if (kind === 'parts') {
    const part = values.length / (COPY.parts.find((parts) => values.length % parts === 0) ?? 1);
    if (shape.length === 1)
      copyUnlessOwn(
        values,
        (i) => i % part,
        (i) => isOwn(i, ownElement),
        // So few show in a sum only if they are large.
        Math.max(1, Math.min(freedom.most(name), COPY.ownSize) * strength),
      );
  } else if (shape.length > 1 && kind === 'slices') {
    const axis = shape.findIndex((extent) => extent > 1);
    const slice = shape.slice(axis + 1).reduce((product, extent) => product * extent, 1);
    const isMatrix = axis + 2 >= shape.length;
    copyUnlessOwn(
      values,
      (i) => i % slice,
      (i) => (isMatrix ? isOwn(i, ownElement) : isOwn(Math.floor(i / columns), COPY.ownRow)),
    );
  } else if (shape.length > 1) {
    const tile = columns * 2 ** (COPY.least + (stream.bits(0) % COPY.sizes));
    copyUnlessOwn(
      values,
      (i) => i - (i % tile) + (i % columns),
      (i) => isOwn(Math.floor(i / columns), COPY.ownRowOfTile),
    );
  }
  return values;
}

function copyUnlessOwn(
  values: Float64Array,
  source: (i: number) => number,
  isOwn: (i: number) => boolean,
  ownFactor = 1,
): void {
  for (let i = 0; i < values.length; i++) values[i] = isOwn(i) ? values[i]! * ownFactor : values[source(i)]!;
}

export const copies: Treatment = {
  count: (problem, { isFree }) => (inputsThat(problem, isFree).length > 0 ? COPIED.length : 0),
  treat: copy,
  needs: (index) => (COPIED[index] === 'parts' ? 'even' : undefined),
};
