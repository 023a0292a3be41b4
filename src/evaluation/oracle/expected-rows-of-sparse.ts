import { WarpsmithError } from '../../core/errors.ts';
import type { ReferenceTensors, Rows } from '../../core/problem.ts';
import type { SparseTensors } from '../../core/sparse-tensor.ts';
import { hasSignificantParts } from './expectations.ts';
import { type ExpectedRows, expectationsOfRows, type RowsRequest } from './expected-rows.ts';

/** What rows are wanted of, where inputs may be larger than memory. */
export interface SparseRowsRequest extends Omit<RowsRequest, 'inputs'> {
  /** By the same names as the problem's inputs, each here or in `inputs`. */
  readonly sparse: SparseTensors;
  /** Short inputs. */
  readonly inputs?: ReferenceTensors;
  /** Of every output; none of some, perhaps. */
  readonly rows: Rows;
}

/**
 * Faults of inputs that are zero where nothing was read, or of the machine: nobody drew such inputs for the problem. A tolerance may not exist
 * there, and the machine may not map so many elements.
 */
const CAN_NOT_BE_TOLD: ReadonlySet<string> = new Set(['uncalibratable', 'reference-memory']);

/**
 * Expected values of these rows, in time and memory for the rows and the pieces: nothing goes through whole inputs but the reference, where a
 * row depends on them. Tolerances follow from the rows alone, as {@link expectationsOfRows} sets them.
 *
 * @returns undefined where that can't be told: the reference computes no single rows or takes no sparse inputs, an output has elements that do
 * not matter (which ones, lengths in inputs may say), no tolerance can be set, or the machine lacks the memory.
 * @throws as `runHostReference` otherwise.
 */
export async function expectationsOfRowsOfSparse(request: SparseRowsRequest): Promise<ExpectedRows | undefined> {
  const { problem, buffers, inputs = {}, signal } = request;
  if (hasSignificantParts(buffers) || !(await problem.reference.takesSparse?.(signal))) return undefined;
  try {
    return await expectationsOfRows({ ...request, inputs });
  } catch (error) {
    if (error instanceof WarpsmithError && CAN_NOT_BE_TOLD.has(error.details.code)) return undefined;
    throw error;
  }
}
