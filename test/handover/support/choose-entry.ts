import type { ComparedSizes } from '../../../src/core/compared-sizes.ts';
import { evaluateExpression } from '../../../src/core/expressions/evaluate.ts';
import type { Candidate } from '../../../src/core/kernel.ts';
import { isShapeOf } from '../../../src/core/plan/dimensions.ts';
import { failedLimit } from '../../../src/core/plan/limits.ts';
import { failedConstraint } from '../../../src/core/plan/parameters.ts';
import type { Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import type { DispatchEntry, DispatchTable } from '../../../src/handover/dispatch-table.ts';
import { sizeConditions } from '../../../src/handover/size-conditions.ts';

/** What the generated dispatchers in C++ and Python must choose, written a third time to be held against them. */

/** Dimensions that are compared as they are; all others by how far apart their logarithms are. */
const categoricalDimensions = (problem: Pick<ProblemFile, 'dimensions'>): string[] =>
  Object.entries(problem.dimensions)
    .filter(([, declaration]) => declaration.values !== undefined)
    .map(([name]) => name);

/** Distances closer than this are ties, so that the last bit of a math library does not decide. */
const TIE = 1e-9;

const distance = (from: Dimensions, to: Dimensions, names: readonly string[]): number =>
  names.reduce((sum, name) => {
    const difference = Math.log(Math.max(1, from[name]!)) - Math.log(Math.max(1, to[name]!));
    return sum + difference * difference;
  }, 0);

const takes = (
  problem: ProblemFile,
  { kernel, parameters }: Candidate,
  dimensions: Dimensions,
  compared: ComparedSizes | undefined,
): boolean =>
  isShapeOf(problem, dimensions) &&
  sizeConditions(problem, compared).every(({ condition }) => evaluateExpression(condition, dimensions) !== 0) &&
  failedLimit(kernel.file, dimensions) === undefined &&
  failedConstraint(kernel.file, parameters, dimensions) === undefined;

/**
 * The entry a call goes to: of those whose declared-value dimensions are the call's and whose kernel takes the call, the
 * nearest in the logarithms of the others, the first of equals; `undefined` where it goes to the fallback.
 */
export function chooseEntry(
  table: DispatchTable,
  { problem, candidates }: { problem: ProblemFile; candidates: ReadonlyMap<string, Candidate> },
  dimensions: Dimensions,
): DispatchEntry | undefined {
  const categorical = categoricalDimensions(problem);
  const others = Object.keys(problem.dimensions).filter((name) => !categorical.includes(name));
  let nearest: { entry: DispatchEntry; distance: number } | undefined;
  for (const entry of table.entries) {
    if (categorical.some((name) => entry.dimensions[name] !== dimensions[name])) continue;
    if (!takes(problem, candidates.get(entry.candidate.id)!, dimensions, entry.compared)) continue;
    const away = distance(dimensions, entry.dimensions, others);
    if (nearest === undefined || away < nearest.distance - TIE) nearest = { entry, distance: away };
  }
  return nearest?.entry;
}
