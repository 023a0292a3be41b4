import { WarpsmithError } from '../core/errors.ts';
import type { PlannedBuffer } from '../core/launch-plan.ts';
import { expandBuffers } from '../core/plan/expand-buffers.ts';
import type { Dimensions, Problem, ReferenceTensors } from '../core/problem.ts';
import { roundTo } from '../core/rounding.ts';
import type { Expectation } from './comparisons/comparison.ts';
import { comparisonRule } from './comparisons/index.ts';
import { type DrawnInputs, drawInputs } from './draw-inputs.ts';
import { elementCountOf } from './layout.ts';

/** Names the inputs of one check. */
export interface CheckKey {
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  readonly seed: number;
  /** A generator set of problem.json, or `declared`. */
  readonly generatorSet: string;
}

/** What judging one check needs: the inputs' contents, and what is expected of each output. */
export interface PreparedCheck {
  /** The problem's buffers, without workspaces. */
  readonly buffers: readonly PlannedBuffer[];
  readonly inputs: DrawnInputs;
  /** Worked out when first read. Reading throws what `prepareCheck` says. */
  readonly expectations: ReadonlyMap<string, Expectation>;
}

const identity = (value: number): number => value;

/** Draws the inputs of a check; what is expected of the outputs follows when it is asked for. */
export const prepareCheck = (key: CheckKey): PreparedCheck => {
  const buffers = expandBuffers(key.problem.file, key.dimensions);
  const inputs = drawInputs({ ...key, buffers });
  let expectations: ReadonlyMap<string, Expectation> | undefined;
  return {
    buffers,
    inputs,
    get expectations() {
      expectations ??= expectationsOf(key, buffers, inputs);
      return expectations;
    },
  };
};

/**
 * Runs the reference as oracle (float64) and, if the comparison needs it, as naive run (every result rounded to the I/O
 * dtype) and on absolute values, and derives each output's tolerances.
 *
 * @throws WarpsmithError when reference.ts returns outputs of the wrong names or sizes, or the naive run overflows.
 */
const expectationsOf = (
  { problem, dimensions }: CheckKey,
  buffers: readonly PlannedBuffer[],
  inputs: DrawnInputs,
): ReadonlyMap<string, Expectation> => {
  const { comparison } = problem.file;
  const rule = comparisonRule(comparison);
  const oracle = runReference(problem, buffers, inputs.tensors, dimensions, identity);
  const naive =
    rule.needs.naive && comparison.kind === 'calibrated'
      ? runReference(problem, buffers, inputs.tensors, dimensions, roundTo(comparison.storage))
      : undefined;
  const magnitude = rule.needs.magnitude
    ? runReference(problem, buffers, absoluteValues(inputs.tensors), dimensions, identity)
    : undefined;
  const expectations = new Map<string, Expectation>();
  for (const buffer of outputsOf(buffers)) {
    const { name, dtype, shape } = buffer;
    const expectation = rule.expect(comparison, {
      output: name,
      dtype,
      shape,
      dimensions,
      oracle: oracle[name]!,
      rounded: oracle[name]!.map(roundTo(dtype)),
      ...(naive && { naive: naive[name]! }),
      ...(magnitude && { magnitude: magnitude[name]! }),
    });
    expectations.set(name, expectation);
  }
  return expectations;
};

/** Buffers that a kernel must fill. */
export const outputsOf = (buffers: readonly PlannedBuffer[]): PlannedBuffer[] =>
  buffers.filter(({ role }) => role === 'out' || role === 'inout');

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

/** Remembers prepared checks, so that the candidates of a run are judged on the same inputs at the cost of one. */
export interface Oracle {
  check(key: CheckKey): PreparedCheck;
}

const DEFAULT_LIMIT_BYTES = 256 * 1024 * 1024;

/** An oracle that forgets the least recently used checks beyond `limitBytes`. */
export const createOracle = ({ limitBytes = DEFAULT_LIMIT_BYTES }: { limitBytes?: number } = {}): Oracle => {
  const remembered = new Map<string, { prepared: PreparedCheck; bytes: number }>();
  const problemNumbers = new WeakMap<Problem, number>();
  let problemCount = 0;
  let usedBytes = 0;

  const nameOf = ({ problem, dimensions, seed, generatorSet }: CheckKey): string => {
    if (!problemNumbers.has(problem)) problemNumbers.set(problem, problemCount++);
    return JSON.stringify([problemNumbers.get(problem), Object.entries(dimensions).sort(), seed, generatorSet]);
  };
  const forgetOldest = (): void => {
    for (const [name, { bytes }] of remembered) {
      if (usedBytes <= limitBytes) return;
      remembered.delete(name);
      usedBytes -= bytes;
    }
  };

  return {
    check(key) {
      const name = nameOf(key);
      const known = remembered.get(name);
      const entry = known ?? withBytes(prepareCheck(key));
      remembered.delete(name);
      remembered.set(name, entry);
      if (!known) usedBytes += entry.bytes;
      forgetOldest();
      return entry.prepared;
    },
  };
};

/** Size of what a prepared check keeps alive, with an expected value and a tolerance (float64) for each output element. */
const withBytes = (prepared: PreparedCheck): { prepared: PreparedCheck; bytes: number } => {
  const { inputs, buffers } = prepared;
  let bytes = 0;
  for (const content of inputs.bytes.values()) bytes += content.byteLength;
  for (const tensor of Object.values(inputs.tensors)) bytes += tensor.byteLength;
  for (const buffer of outputsOf(buffers)) bytes += elementCountOf(buffer) * 2 * Float64Array.BYTES_PER_ELEMENT;
  return { prepared, bytes };
};
