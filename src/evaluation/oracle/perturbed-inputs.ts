import { isFloating } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { Perturbation, ReferenceTensors } from '../../core/problem.ts';
import type { SparseTensors } from '../../core/sparse-tensor.ts';
import { createStream } from '../../stats/random.ts';
import { unitRoundoff } from './ulp.ts';

/** Number of multipliers that are drawn. A prime, so that rows of usual length do not all see the same ones. */
const FACTOR_COUNT = 65_537;

let factors: Float64Array | undefined;

/** Uniform with mean 0 and variance 1. */
function unitNoise(): Float64Array {
  if (factors) return factors;
  const stream = createStream('relative perturbations of inputs');
  factors = Float64Array.from({ length: FACTOR_COUNT }, (_, i) => Math.sqrt(12) * (stream.uniform(i) - 0.5));
  return factors;
}

/**
 * Standard deviation of the perturbations relative to the inputs. On a host they are small enough for every effect to be
 * linear. A device's inputs are rounded to their dtype. Two units of that make the rounding add 4 % at most to the deviation; 16 made
 * scores of thousands change by so much that a softmax went from one key to another: its results then say nothing about small errors.
 */
export const HOST_PERTURBATION = 2 ** -20;
export const devicePerturbation = (buffers: readonly PlannedBuffer[]): number =>
  Math.max(HOST_PERTURBATION, ...perturbable(buffers).map(({ dtype }) => 2 * unitRoundoff(dtype)));

const perturbable = (buffers: readonly PlannedBuffer[]): PlannedBuffer[] =>
  buffers.filter(({ role, dtype }) => (role === 'in' || role === 'inout') && isFloating(dtype));

/** Which perturbation the inputs of these buffers get in their n-th run. */
export const perturbationOf = (buffers: readonly PlannedBuffer[], run: number, relative: number): Perturbation => ({
  names: perturbable(buffers).map(({ name }) => name),
  run,
  relative,
});

/**
 * Replaces every element x of every floating-point input by x · (1 + relative · ξ), with independent ξ of mean 0 and
 * variance 1; the same for the same `run`. Zeros, infinities, NaN and integers stay unchanged. Inputs that are not there are somebody
 * else's to change.
 *
 * @param placeFor where the changed elements of an input go.
 */
export function perturbInputs(
  inputs: ReferenceTensors,
  { names, run, relative }: Perturbation,
  placeFor = (_name: string, length: number): Float64Array => new Float64Array(length),
): ReferenceTensors {
  const perturbed: Record<string, Float64Array> = { ...inputs };
  for (const [position, name] of names.entries()) {
    const values = inputs[name];
    if (!values) continue;
    const start = startOf(position, run);
    perturbed[name] = perturbedFrom(start, values, relative, placeFor(name, values.length));
  }
  return perturbed;
}

/** The same of sparse inputs: each element as it would be in the whole one. */
export function perturbSparse(sparse: SparseTensors, { names, run, relative }: Perturbation): SparseTensors {
  const perturbed: Record<string, SparseTensors[string]> = { ...sparse };
  for (const [position, name] of names.entries()) {
    const tensor = sparse[name];
    if (!tensor) continue;
    const start = startOf(position, run);
    const pieces = tensor.pieces.map(({ at, values }) => {
      const changed = perturbedFrom((start + at) % FACTOR_COUNT, values, relative, new Float64Array(values.length));
      return { at, values: changed };
    });
    perturbed[name] = { ...tensor, pieces };
  }
  return perturbed;
}

/** Number of the multiplier of an input's first element. */
const startOf = (position: number, run: number): number =>
  createStream('where noise begins', position, run).bits(0) % FACTOR_COUNT;

/** @param start number of the first element's multiplier. */
function perturbedFrom(start: number, values: Float64Array, relative: number, changed: Float64Array): Float64Array {
  const noise = unitNoise();
  let at = start;
  // Without a branch for each element: inputs have millions.
  for (let from = 0; from < values.length; at = 0) {
    const end = Math.min(values.length, from + FACTOR_COUNT - at);
    for (let i = from, shift = at - from; i < end; i++) changed[i] = values[i]! * (1 + relative * noise[i + shift]!);
    from = end;
  }
  return changed;
}
