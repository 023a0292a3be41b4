import { WarpsmithError } from '../core/errors.ts';
import type { PlannedBuffer } from '../core/launch-plan.ts';
import type { Dimensions, Problem, ReferenceRun, ReferenceTensors, Rows } from '../core/problem.ts';
import type { Rounding } from '../core/rounding.ts';
import { comparisonRule } from './comparisons/index.ts';
import { elementCountOf } from './layout.ts';

/** What the reference says of some inputs: all that a comparison may ask for. */
export interface ReferenceRuns {
  /** Float64, unrounded. */
  readonly oracle: ReferenceTensors;
  /** Every operation's result rounded to the I/O dtype. */
  readonly naive?: ReferenceTensors;
  /** The oracle of the inputs' absolute values. */
  readonly magnitude?: ReferenceTensors;
}

/** Buffers that a kernel must fill. */
export const outputsOf = (buffers: readonly PlannedBuffer[]): PlannedBuffer[] =>
  buffers.filter(({ role }) => role === 'out' || role === 'inout');

/** Which runs the problem's comparison asks for beside the oracle. */
export const runsNeeded = ({ file }: Problem): { readonly naive: boolean; readonly magnitude: boolean } => {
  const { needs } = comparisonRule(file.comparison);
  return { naive: needs.naive && file.comparison.kind === 'calibrated', magnitude: needs.magnitude };
};

/**
 * Runs reference.ts as oracle (float64) and, where the comparison needs it, as naive run (every result rounded to the
 * I/O dtype) and on absolute values.
 *
 * @param rows only these, if the reference can leave out the others.
 * @throws WarpsmithError when the reference is at fault; the signal's reason when aborted.
 */
export const runHostReference = async (
  problem: Problem,
  buffers: readonly PlannedBuffer[],
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  signal?: AbortSignal,
  rows?: Rows,
): Promise<ReferenceRuns> => {
  const { comparison } = problem.file;
  const needed = runsNeeded(problem);
  const run = (tensors: ReferenceTensors, rounding: Rounding): Promise<ReferenceTensors> =>
    runReference(problem, buffers, { inputs: tensors, dimensions, rounding, rows, signal });
  // Asked for at once: they may run side by side.
  const [oracle, naive, magnitude] = await Promise.all([
    run(inputs, 'exact'),
    needed.naive && comparison.kind === 'calibrated' ? run(inputs, comparison.storage) : undefined,
    needed.magnitude ? run(absoluteValues(inputs), 'exact') : undefined,
  ]);
  return { oracle, ...(naive && { naive }), ...(magnitude && { magnitude }) };
};

/**
 * Runs the reference and checks what it returns.
 *
 * @throws WarpsmithError `reference-output` when an output is missing or has the wrong number of elements; as
 * {@link RunReference}.
 */
export const runReference = async (
  problem: Problem,
  buffers: readonly PlannedBuffer[],
  run: ReferenceRun,
): Promise<ReferenceTensors> => {
  const outputs = await problem.reference(run);
  for (const buffer of outputsOf(buffers)) {
    const received = outputs[buffer.name]?.length;
    const expected = elementCountOf(buffer);
    if (received === expected || (run.rows && received === elementsIn(run.rows, buffer))) continue;
    throw new WarpsmithError({
      code: 'reference-output',
      message: `${run.rows ? 'referenceRows' : 'the reference'} of ${problem.file.name} does not return output '${buffer.name}' as declared`,
      file: `${problem.folder}/reference.ts`,
      path: buffer.name,
      received: received === undefined ? 'no such output' : `${received} elements`,
      expected: `${expected} elements, shape [${buffer.shape}]`,
      hint: 'Return a Float64Array for every output, row-major.',
    });
  }
  return outputs;
};

/** How many elements the chosen rows of an output have. */
const elementsIn = (rows: Rows, { name, shape }: PlannedBuffer): number => rows[name]!.length * (shape.at(-1) ?? 1);

const absoluteValues = (tensors: ReferenceTensors): ReferenceTensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, values]) => [name, values.map(Math.abs)]));
