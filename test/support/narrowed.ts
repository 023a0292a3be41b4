import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import type { Dimensions, ProblemFile } from '../../src/core/problem.ts';

/** A problem for a test that is not about its shapes: with further limits, so that a verification draws small shapes only. */
export function narrowed(file: ProblemFile, limits: readonly string[]): ProblemFile {
  const isNarrow = ({ dimensions }: { dimensions: Dimensions }): boolean => {
    const shape = completeDimensions(file.dimensions, dimensions);
    return limits.every((limit) => evaluateExpression(limit, shape) !== 0);
  };
  return {
    ...file,
    limits: [...(file.limits ?? []), ...limits],
    workloads: file.workloads.filter(isNarrow),
    checkShapes: file.checkShapes.filter(isNarrow),
  };
}
