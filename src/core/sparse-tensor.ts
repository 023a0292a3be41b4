/** Elements of a tensor that lie side by side. */
export interface SparsePiece {
  /** Number of the first one, row-major. */
  readonly at: number;
  readonly values: Float64Array;
}

/**
 * An input that may be larger than memory: `length` elements, decoded to float64 and row-major, zero everywhere but in pieces. These lie
 * within the length and do not overlap.
 */
export interface SparseTensor {
  readonly length: number;
  readonly pieces: readonly SparsePiece[];
}

/** Input → its elements. */
export type SparseTensors = Readonly<Record<string, SparseTensor>>;

/**
 * All elements. Systems map memory where it is written: an array of 2³¹ elements, 16 GiB, takes as much memory as its pieces do, rounded up to
 * whole pages, and reading it elsewhere takes none.
 *
 * @throws RangeError where the machine does not map so much, or a piece lies beyond the length.
 */
export function lazilyMapped({ length, pieces }: SparseTensor): Float64Array {
  const elements = new Float64Array(length);
  for (const { at, values } of pieces) elements.set(values, at);
  return elements;
}

/** Unmaps it now, not when garbage is collected: its pieces take memory. Whoever still has it finds it empty. */
export const unmap = (elements: Float64Array): void => void (elements.buffer as ArrayBuffer).transfer(0);

/** Bytes of the pieces alone. */
export const bytesOfPieces = (tensors: SparseTensors): number =>
  Object.values(tensors)
    .flatMap(({ pieces }) => pieces)
    .reduce((sum, { values }) => sum + values.byteLength, 0);
