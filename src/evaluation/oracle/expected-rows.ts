import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { Dimensions, Problem, ReferenceTensors, Rows } from '../../core/problem.ts';
import type { SparseTensors } from '../../core/sparse-tensor.ts';
import { valuesKey } from '../../core/values.ts';
import { createStream, type RandomStream } from '../../stats/random.ts';
import { elementCountOf } from '../launches/layout.ts';
import { type Expectations, expectationsFrom, hasSignificantParts } from './expectations.ts';
import { outputsOf, runHostReference, runUnperturbed } from './reference-runs.ts';
import { rowCount, rowLength } from './row-parts.ts';
import { areValuesPlaced } from './secret/secret-set.ts';
import { areValuesRepeated, areValuesTried } from './secret/sets-of-problem.ts';

/** Expected values of some rows of every output, or of all rows if `rows` is absent. */
export interface ExpectedRows {
  readonly rows?: Rows;
  /** Of those rows, one after the other. */
  readonly expectations: Expectations;
}

/** What rows are wanted of. */
export interface RowsRequest {
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  readonly generatorSet: string;
  readonly buffers: readonly PlannedBuffer[];
  readonly inputs: ReferenceTensors;
  /** Further inputs; only for references that take such. */
  readonly sparse?: SparseTensors;
  readonly signal?: AbortSignal | undefined;
  /** With the least tolerances that there can be, which take no run on perturbed inputs. */
  readonly isLeast?: boolean;
  /** With tolerances that more runs on perturbed inputs tell. */
  readonly sure?: boolean;
}

/** Floating-point operations of a host for a sample of rows: some tens of milliseconds. */
export const SAMPLE_FLOP = 4e7;
/** Smallest number of rows in a sample, at any cost. */
export const LEAST_ROWS = 64;

/**
 * Expected values of rows that the seed chooses, always including the first and the last; of all rows if the reference
 * can't compute single rows. `undefined` if the whole costs no more than a sample.
 *
 * @throws as `runHostReference`.
 */
export async function expectedRows(
  request: RowsRequest & { readonly seed: number },
): Promise<ExpectedRows | undefined> {
  const { problem, dimensions, buffers } = request;
  const flop = evaluateExpression(problem.file.flop, dimensions);
  // Lengths of some rows are not those of all.
  if (flop <= SAMPLE_FLOP || hasSignificantParts(buffers)) return undefined;
  return expectationsOfRows({ ...request, rows: chooseRowsOf(outputsOf(buffers), flop, request) });
}

/**
 * Expected values of these rows, which may be none of some outputs; of all rows if the reference can't compute single rows.
 *
 * @throws as `runHostReference`.
 */
export async function expectationsOfRows(request: RowsRequest & { readonly rows: Rows }): Promise<ExpectedRows> {
  const { problem, dimensions, buffers, inputs, sparse, signal, rows, isLeast, sure } = request;
  const outputs = outputsOf(buffers);
  const options = {
    ...{ signal, rows, sparse, sure },
    placed: areValuesPlaced(request.generatorSet),
    tried: areValuesTried(problem.file, request.generatorSet),
  };
  const runs = {
    ...(await (isLeast
      ? runUnperturbed({ problem, buffers, inputs, dimensions, ...options })
      : runHostReference(problem, buffers, inputs, dimensions, options))),
    repeats: areValuesRepeated(problem.file, request.generatorSet),
  };
  const areAll = outputs.every((buffer) => runs.oracle[buffer.name]!.length === elementCountOf(buffer));
  if (areAll) return { expectations: expectationsFrom(problem, buffers, dimensions, runs) };
  const cut = buffers.map((buffer) => (rows[buffer.name] ? withRows(buffer, rows[buffer.name]!.length) : buffer));
  return { rows, expectations: expectationsFrom(problem, cut, dimensions, runs) };
}

function chooseRowsOf(
  outputs: readonly PlannedBuffer[],
  flop: number,
  { dimensions, seed, generatorSet }: { dimensions: Dimensions; seed: number; generatorSet: string },
): Rows {
  const check = valuesKey(dimensions);
  return Object.fromEntries(
    outputs.map((buffer) => {
      const stream = createStream(seed, check, generatorSet, 'rows', buffer.name);
      const count = rowCount(buffer);
      return [buffer.name, chooseRows(count, Math.max(LEAST_ROWS, Math.floor((count * SAMPLE_FLOP) / flop)), stream)];
    }),
  );
}

/** The buffer as if it had only so many rows. */
const withRows = (buffer: PlannedBuffer, count: number): PlannedBuffer => ({
  ...buffer,
  shape: [count, rowLength(buffer)],
});

function chooseRows(count: number, wanted: number, stream: RandomStream): Uint32Array {
  if (wanted >= count) return Uint32Array.from({ length: count }, (_, row) => row);
  const chosen = new Set([0, count - 1]);
  for (let i = 0; chosen.size < wanted; i++) chosen.add(Math.floor(stream.uniform(i) * count));
  return Uint32Array.from(chosen).sort();
}

/** So many of these rows, always including the first and the last. */
export const chooseFrom = (rows: readonly number[], wanted: number, stream: RandomStream): Uint32Array =>
  chooseRows(rows.length, wanted, stream).map((i) => rows[i]!);

/** The chosen rows of a whole output, one after the other. */
export function gatherRows<T extends Float64Array | Uint8Array>(values: T, rows: Uint32Array, length: number): T {
  const gathered = new (values.constructor as new (length: number) => T)(rows.length * length);
  rows.forEach((row, i) => {
    gathered.set(values.subarray(row * length, (row + 1) * length), i * length);
  });
  return gathered;
}
