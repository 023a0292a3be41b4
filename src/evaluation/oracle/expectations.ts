import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem, ReferenceTensors } from '../../core/problem.ts';
import { decode, roundAll } from '../../core/rounding.ts';
import { packElements } from '../launches/layout.ts';
import { insignificantElements } from '../launches/significant.ts';
import { outputsOf, type PerturbedRun, type ReferenceRuns, runHostReference } from './reference-runs.ts';
import { comparisonOf, toleranceRule } from './tolerances/index.ts';
import type { Expectation } from './tolerances/tolerance.ts';

/** Output name → its expectation. */
export type Expectations = ReadonlyMap<string, Expectation>;

/** Some inputs of a problem, as the device has them. */
export interface ReferenceRequest {
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  /** Bytes of every `in` and `inout` buffer in its layout, with strides and gaps. */
  readonly inputs: ReadonlyMap<string, Uint8Array>;
  /**
   * Skip runs on perturbed inputs. Tolerances are then the smallest for these inputs, as if no result were ill-conditioned.
   */
  readonly leastTolerances?: boolean;
  /** Whether values repeat or differ in size. */
  readonly placed?: boolean;
  /** Whether an input holds one value nearly everywhere. */
  readonly repeats?: boolean;
  /** Whether the tolerance must bear what arithmetic errs on these inputs. */
  readonly tried?: boolean;
  /** So many runs on perturbed inputs that no condition is underestimated by chance. */
  readonly sure?: boolean;
  /** The elements of the inputs, row-major, if somebody has decoded them. */
  readonly tensors?: ReferenceTensors | undefined;
}

/** Runs a problem's reference on a GPU, in a process that runs no candidate. */
export interface DeviceReference {
  /** `undefined` if the problem has none, or it does not take these dimensions. */
  run(request: ReferenceRequest): Promise<ReferenceRuns | undefined>;
  /** Opens the GPU, compiles and loads, so that a run need not. Uses the GPU until it is fulfilled; never rejects. */
  prepare?(problem: Problem): Promise<void>;
  close(): Promise<void>;
}

/**
 * As {@link expectationsFrom} of all buffers, perhaps elsewhere.
 *
 * @param again makes the runs once more. If it is there, the runs are given away, which takes less than copying them.
 */
export type WorkOutExpectations = (
  problem: Problem,
  dimensions: Dimensions,
  runs: ReferenceRuns,
  again?: () => Promise<ReferenceRuns>,
) => Promise<Expectations>;

/** As `disagreement` with what is expected from these runs, perhaps elsewhere. The runs are given away. */
export type WorkOutDisagreement = (
  problem: Problem,
  dimensions: Dimensions,
  compared: {
    readonly runs: ReferenceRuns;
    readonly outputs: ReadonlyMap<string, Uint8Array>;
    readonly again: () => Promise<ReferenceRuns>;
  },
) => Promise<string | undefined>;

/** Where references run, and until when. */
interface WhereReferencesRun {
  readonly deviceReference?: DeviceReference | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The expected outputs for these inputs, from the device reference if there is one that takes them, else from the reference on the host.
 *
 * @throws WarpsmithError if the reference returns outputs of the wrong names or sizes, or the naive run overflows.
 */
export async function expectationsFor(
  request: ReferenceRequest &
    WhereReferencesRun & {
      /** Works out the expectations from the runs; this thread does if absent. */
      readonly expect?: WorkOutExpectations | undefined;
    },
): Promise<Expectations> {
  const { problem, dimensions, expect } = request;
  const runs = await runsFor(request);
  if (expect) return expect(problem, dimensions, runs, () => runsFor(request));
  return expectationsFrom(problem, expandBuffers(problem.file, dimensions), dimensions, runs);
}

/** What expectations follow from, in memory of its own but for the inputs. @throws as {@link expectationsFor}. */
export async function runsFor(request: ReferenceRequest & WhereReferencesRun): Promise<ReferenceRuns> {
  const { problem, dimensions, inputs, deviceReference, signal } = request;
  const { placed = false, repeats = false, tried = false, sure = false } = request;
  const buffers = expandBuffers(problem.file, dimensions);
  const tensors = (): ReferenceTensors => request.tensors ?? decodeInputs(buffers, inputs);
  const runs =
    (await deviceReference?.run(request)) ??
    (await runHostReference(problem, buffers, tensors(), dimensions, { signal, placed, tried, sure }));
  const given = hasSignificantParts(buffers) && { inputs: tensors() };
  return { ...runs, ...given, placed, repeats, tried };
}

/** Whether not every element of every output matters. */
export const hasSignificantParts = (buffers: readonly PlannedBuffer[]): boolean =>
  buffers.some(({ significant }) => significant !== undefined);

/** The elements of every input, row-major, out of the bytes of its buffer. */
export const decodeInputs = (
  buffers: readonly PlannedBuffer[],
  inputs: ReadonlyMap<string, Uint8Array>,
): ReferenceTensors =>
  Object.fromEntries(
    buffers
      .filter(({ role }) => role === 'in' || role === 'inout')
      .map((buffer) => [buffer.name, decode(packElements(buffer, inputs.get(buffer.name)!), buffer.dtype)]),
  );

/** Each output's tolerances, by the problem's comparison. */
export function expectationsFrom(
  problem: Pick<Problem, 'file'>,
  buffers: readonly PlannedBuffer[],
  dimensions: Dimensions,
  runs: ReferenceRuns,
): Expectations {
  const { oracle: given, naive, perturbed, weighted, inputs, placed = false, repeats = false, tried = false } = runs;
  const lengthsOf = (name: string): Float64Array => (given[name] ?? inputs?.[name])!;
  return new Map(
    outputsOf(buffers).map((buffer) => {
      const { name, dtype, shape } = buffer;
      const insignificant = insignificantElements(buffer, lengthsOf);
      // Whatever the reference has there makes no tolerance.
      const cleared = (values: Float64Array): Float64Array =>
        insignificant ? values.map((value, i) => (insignificant[i] === 1 ? 0 : value)) : values;
      const clearedRun = ({ relative, outputs }: PerturbedRun) => ({ relative, values: cleared(outputs[name]!) });
      const oracle = cleared(given[name]!);
      const comparison = comparisonOf(problem.file, name);
      const expectation = toleranceRule(comparison).expect(comparison, {
        output: name,
        dtype,
        shape,
        dimensions,
        oracle,
        rounded: roundAll(oracle, dtype),
        naive: naive ? cleared(naive[name]!) : undefined,
        perturbed: perturbed?.map(clearedRun),
        weighted: weighted?.map(clearedRun),
        placed,
        repeats,
        tried,
      });
      return [name, insignificant ? { ...expectation, insignificant } : expectation];
    }),
  );
}
