import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { Problem, Workload } from '../core/problem.ts';
import type { ProblemWork } from '../hardware/bounds.ts';

/** problem.json's costs of one workload. */
export const problemWork = ({ file }: Problem, { dimensions, cache }: Workload): ProblemWork => ({
  flop: evaluateExpression(file.flop, dimensions),
  minimumFlop: evaluateExpression(file.minimumFlop, dimensions),
  minimumReadBytes: evaluateExpression(file.minimumReadBytes, dimensions),
  comparison: file.comparison,
  cache,
});
