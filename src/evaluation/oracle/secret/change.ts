import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import type { ProblemFile } from '../../../core/problem.ts';
import type { RandomStream } from '../../../stats/random.ts';
import { type Change, mutate, valuesOfSolution } from '../mutated-inputs.ts';
import { contrastsOf, freedomOf, hasFewerAxes } from './freedom.ts';
import { rootMeanSquare } from './root-mean-square.ts';
import { comparisonKinds, scalingOf } from './scaling.ts';
import { clampTo } from './storable.ts';

/** What changes to inputs follow from. */
interface ChangesRequest {
  readonly problem: ProblemFile;
  readonly buffer: PlannedBuffer;
  /** Of a change: this input's own stream, and the one that all inputs share. */
  readonly streamOf: (change: number, whose: 'own' | 'shared') => RandomStream;
  /** As many values as the problem draws for this input. */
  readonly fresh: () => Float64Array;
}

/** Makes the changes to an input, in place: each to one of the inputs that have values of their own, or to all of them. */
export function change(values: Float64Array, changes: readonly Change[], request: ChangesRequest): Float64Array {
  const { problem, buffer, streamOf, fresh } = request;
  const { isFree } = freedomOf(problem);
  const free = Object.keys(problem.inputs).filter(isFree);
  const kinds = [...comparisonKinds(problem)];
  const { longestRepeated } = contrastsOf(problem, buffer.name, kinds);
  const before = values.slice();
  for (const one of changes) {
    if (typeof one === 'string') {
      if (free.includes(buffer.name)) assign(values, one, Object.keys(problem.inputs).indexOf(buffer.name));
      continue;
    }
    const chosen = free[streamOf(one, 'shared').bits(0) % (free.length + 1)] ?? buffer.name;
    if (chosen !== buffer.name || !free.includes(chosen)) continue;
    mutate(values, {
      ...{ buffer, stream: streamOf(one, 'own'), longestRepeated },
      fresh: () => (scalingOf(problem, buffer.name) ? asLargeAs(values, fresh()) : fresh()),
      takesNegatives: fresh().some((value) => value < 0),
    });
  }
  const most = hasFewerAxes(problem, buffer.name) ? 0 : longestRepeated;
  return clampTo(buffer.dtype, repeatsLonger(values, most, buffer.shape.at(-1) ?? 1) ? before : values);
}

/**
 * Whether a row of several values holds one of them more often than tolerances bear: zeros beside other values are equal terms of a softmax, while a whole row of them is
 * exact. Not asked if values may repeat without end, or do not repeat.
 */
function repeatsLonger(values: Float64Array, longestRepeated: number, rowLength: number): boolean {
  if (longestRepeated === 0 || rowLength <= longestRepeated) return false;
  for (let start = 0; start < values.length; start += rowLength) {
    const counts = new Map<number, number>();
    for (let i = start; i < start + rowLength; i++) counts.set(values[i]!, (counts.get(values[i]!) ?? 0) + 1);
    if (counts.size > 1 && [...counts.values()].some((count) => count > longestRepeated)) return true;
  }
  return false;
}

function assign(values: Float64Array, solution: string, input: number): void {
  for (const assigned of valuesOfSolution(solution))
    if (assigned.input === input) values[assigned.element] = assigned.value;
}

/** The others by a power of two, in place. */
function asLargeAs(values: Float64Array, others: Float64Array): Float64Array {
  const factor = 2 ** Math.round(Math.log2(rootMeanSquare(values) / rootMeanSquare(others)));
  for (let i = 0; i < others.length; i++) others[i]! *= factor;
  return others;
}
