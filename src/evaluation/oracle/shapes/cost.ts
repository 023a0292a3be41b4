import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import type { PlannedBuffer } from '../../../core/launch-plan.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { elementCountOf } from '../../launches/layout.ts';

/** Floating-point operations, and elements of all buffers. */
export interface Cost {
  readonly flop: number;
  readonly elements: number;
}

/** Of a shape that takes a host milliseconds. */
export const SMALL_COST: Cost = { flop: 2e7, elements: 3e5 };

/**
 * The same where a CPU runs the kernel, too, four times and more. Several tiles of each dimension still fit. A CTA that does
 * next to nothing costs such a CPU as much as a small one with work, so that threads count, too.
 */
export const SMALL_EMULATED_COST = { flop: 1e7, elements: 1e5, threads: 2 ** 14 };

/** Whether a host takes milliseconds for a shape. */
export const costsLittle = (problem: ProblemFile, dimensions: Dimensions): boolean =>
  isWithin(SMALL_COST, problem, dimensions);

/** Elements of all buffers. */
export const elementsOf = (problem: ProblemFile, dimensions: Dimensions): number =>
  countElements(expandBuffers(problem, dimensions));

/** Elements of all inputs. */
export const elementsIn = (problem: ProblemFile, dimensions: Dimensions): number =>
  countElements(expandBuffers(problem, dimensions).filter(({ role }) => role !== 'out'));

/**
 * Bytes of a host's memory that a check takes which draws, computes and compares everything at once. An input element is kept as bytes and as a
 * float64 number, which the reference's process has twice; of an output element, the results of a run and what is expected, by whom and how closely. As large vectors were seen to take.
 */
export const hostBytesOf = (problem: ProblemFile, dimensions: Dimensions): number =>
  32 * elementsIn(problem, dimensions) + 48 * (elementsOf(problem, dimensions) - elementsIn(problem, dimensions));

/** The buffer with most elements; `undefined` if these dimensions are no shape of the problem. */
export function largestBuffer(
  problem: ProblemFile,
  shape: Dimensions,
): { readonly name: string; readonly elements: number } | undefined {
  try {
    const counts = expandBuffers(problem, shape).map((buffer) => ({
      name: buffer.name,
      elements: elementCountOf(buffer),
    }));
    return counts.toSorted((a, b) => b.elements - a.elements)[0];
  } catch {
    return undefined;
  }
}

/** The first of those with most elements of inputs. */
export const largestOf = (problem: ProblemFile, shapes: readonly Dimensions[]): Dimensions | undefined =>
  shapes.toSorted((a, b) => elementsIn(problem, b) - elementsIn(problem, a))[0];

/** Product of all sizes. */
export const volumeOf = (shape: Dimensions): number =>
  Object.values(shape).reduce((product, size) => product * Math.max(1, size), 1);

export const countElements = (buffers: readonly PlannedBuffer[]): number =>
  buffers.reduce((sum, buffer) => sum + elementCountOf(buffer), 0);

/** Whether a shape costs at most `factor` times as much as `most`. */
export function isWithin(most: Cost, problem: ProblemFile, dimensions: Dimensions, factor = 1): boolean {
  try {
    // The cheaper question first: it is asked about thousands of shapes.
    if (evaluateExpression(problem.flop, dimensions) > most.flop * factor) return false;
    return elementsOf(problem, dimensions) <= most.elements * factor;
  } catch {
    // Not a shape of this problem: some extent is not a positive integer.
    return false;
  }
}
