import type { ReferenceFault } from '../../../core/call-reference.ts';
import type { Dimensions, Perturbation, ReferenceTensors } from '../../../core/problem.ts';
import type { Rounding } from '../../../core/rounding.ts';
import type { SparsePiece, SparseTensors } from '../../../core/sparse-tensor.ts';
import type { LineMessage } from '../../../process/line-messages.ts';
import type { NotLoaded } from './reference-program.ts';

/** A sparse input without its values: they follow as payloads, piece by piece. */
export interface SparseOutline {
  readonly name: string;
  readonly length: number;
  /** Of each piece, the number of its first element. */
  readonly at: readonly number[];
}

/** From parent to child; tensors follow as payloads in the order of `names`, without `kept`; then pieces of sparse ones; then rows. */
export type Question =
  /** Take the types out of this text. Nothing of the module has run then. */
  | { readonly command: 'strip'; readonly text: string }
  /** Load the module: this JavaScript instead of its file, if there is one. */
  | { readonly command: 'load'; readonly javaScript?: string | undefined }
  | {
      readonly command: 'run';
      readonly dimensions: Dimensions;
      readonly rounding: Rounding;
      readonly names: readonly string[];
      /** Of these, the ones that are as in the last run; no payloads follow for them. */
      readonly kept: readonly string[];
      /** Inputs beside these; they are kept for no other run. */
      readonly sparse: readonly SparseOutline[];
      /** Keep the inputs for the next run. */
      readonly keeps: boolean;
      /** Of every input and output, for references that take tensors with shapes. */
      readonly shapes?: Readonly<Record<string, readonly number[]>> | undefined;
      /** One of the module's mistakes instead of the reference. */
      readonly mistake?: string;
      /** A run for each: on the inputs as they are (null), or changed so. */
      readonly changes: readonly (Perturbation | null)[];
      /** Outputs of which only some rows are wanted; their numbers follow the inputs as tensors. */
      readonly rowsOf?: readonly string[];
    };

/** From child to parent. */
export type Answer =
  | { readonly kind: 'stripped' /** Absent if they can't be taken out. */; readonly javaScript?: string }
  | { readonly kind: 'loaded'; readonly exports: readonly string[]; readonly hasReference: boolean }
  | ({ readonly kind: 'not-loaded' } & NotLoaded)
  /** The outputs of the first run follow, then those of the second. */
  | { readonly kind: 'done'; readonly names: readonly string[] }
  | { readonly kind: 'fault'; readonly fault: ReferenceFault };

/** A header with its tensors as payloads. */
export const withTensors = (
  header: Question | Answer,
  tensors: ReferenceTensors | readonly Float64Array[],
): LineMessage => ({
  header: header as unknown as LineMessage['header'],
  payloads: Object.values(tensors).map(({ buffer, byteOffset, byteLength }) => {
    return new Uint8Array(buffer, byteOffset, byteLength);
  }),
});

/**
 * The payloads, which a reader put into memory of their own, as tensors of these names.
 *
 * @param run of an answer to several runs, which of them.
 * @throws RangeError when one is not whole.
 */
export const tensorsOf = (names: readonly string[], { payloads }: LineMessage, run = 0): ReferenceTensors =>
  Object.fromEntries(names.map((name, i) => [name, new Float64Array(payloads[run * names.length + i]!.buffer)]));

export const outlinesOf = (sparse: SparseTensors): SparseOutline[] =>
  Object.entries(sparse).map(([name, { length, pieces }]) => ({ name, length, at: pieces.map(({ at }) => at) }));

/** The values of all pieces, in the order of {@link outlinesOf}. */
export const valuesOfPieces = (sparse: SparseTensors): Float64Array[] =>
  Object.values(sparse).flatMap(({ pieces }) => pieces.map(({ values }) => values));

/** @param payloads the values of all pieces; others may follow. */
export function sparseOf(outlines: readonly SparseOutline[], payloads: readonly Uint8Array[]): SparseTensors {
  let next = 0;
  const pieceAt = (at: number): SparsePiece => ({ at, values: new Float64Array(payloads[next++]!.buffer) });
  return Object.fromEntries(outlines.map(({ name, length, at }) => [name, { length, pieces: at.map(pieceAt) }]));
}
