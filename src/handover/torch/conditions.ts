import { namesInExpression } from '../../core/expressions/evaluate.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { ProblemFile } from '../../core/problem.ts';
import { pythonCondition } from './python-expression.ts';
import { pythonString } from './python-names.ts';

/**
 * Python statements of a function that returns the first condition that does not hold: of the problem, or of a kernel its
 * limits and the constraints that name dimensions. (A candidate's other constraints hold.)
 */
export function brokenConditions(
  problem: ProblemFile,
  candidate: Candidate | undefined,
  nameOf: (name: string) => string,
): string[] {
  const placed = (conditions: readonly Expression[] = [], section: string) =>
    conditions.map((condition, index) => ({ condition, path: `${section}[${index}]` }));
  const conditions =
    candidate === undefined
      ? placed(problem.limits, 'limits')
      : [
          ...placed(candidate.kernel.file.limits, 'limits'),
          ...placed(candidate.kernel.file.constraints, 'constraints').filter(({ condition }) =>
            namesInExpression(condition).some((name) => Object.hasOwn(problem.dimensions, name)),
          ),
        ];
  return conditions.flatMap(({ condition, path }) => {
    const values = namesInExpression(condition).map((name) => `(${pythonString(name)}, ${nameOf(name)})`);
    return [
      `if not (${pythonCondition(condition, { kind: 'numbers', nameOf })}):`,
      `    return broken(${pythonString(`${path}: ${condition}`)}, [${values.join(', ')}])`,
    ];
  });
}
