import { WarpsmithError } from '../core/errors.ts';
import type { PlannedBuffer } from '../core/launch-plan.ts';
import type { Dimensions, Problem, ReferenceTensors } from '../core/problem.ts';
import { roundTo } from '../core/rounding.ts';
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
 * @throws WarpsmithError when it returns outputs of the wrong names or sizes.
 */
export const runHostReference = (
  problem: Problem,
  buffers: readonly PlannedBuffer[],
  inputs: ReferenceTensors,
  dimensions: Dimensions,
): ReferenceRuns => {
  const { comparison } = problem.file;
  const needed = runsNeeded(problem);
  const run = (tensors: ReferenceTensors, round: (value: number) => number): ReferenceTensors =>
    runReference(problem, buffers, tensors, dimensions, round);
  return {
    oracle: run(inputs, identity),
    ...(needed.naive && comparison.kind === 'calibrated' && { naive: run(inputs, roundTo(comparison.storage)) }),
    ...(needed.magnitude && { magnitude: run(absoluteValues(inputs), identity) }),
  };
};

const identity = (value: number): number => value;

/**
 * Runs the reference on a copy of the inputs and checks what it returns.
 *
 * @throws WarpsmithError `reference-output` when an output is missing or has the wrong number of elements.
 */
export const runReference = (
  problem: Problem,
  buffers: readonly PlannedBuffer[],
  inputs: ReferenceTensors,
  dimensions: Dimensions,
  round: (value: number) => number,
): ReferenceTensors => {
  const copies = Object.fromEntries(Object.entries(inputs).map(([name, values]) => [name, values.slice()]));
  const outputs = problem.reference(copies, dimensions, round);
  for (const buffer of outputsOf(buffers)) {
    const received = outputs[buffer.name]?.length;
    const expected = elementCountOf(buffer);
    if (received === expected) continue;
    throw new WarpsmithError({
      code: 'reference-output',
      message: `the reference of ${problem.file.name} does not return output '${buffer.name}' as declared`,
      file: `${problem.folder}/reference.ts`,
      path: buffer.name,
      received: received === undefined ? 'no such output' : `${received} elements`,
      expected: `${expected} elements, shape [${buffer.shape}]`,
      hint: 'Return a Float64Array for every output, row-major.',
    });
  }
  return outputs;
};

const absoluteValues = (tensors: ReferenceTensors): ReferenceTensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, values]) => [name, values.map(Math.abs)]));
