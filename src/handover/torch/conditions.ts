import type { ComparedSizes } from '../../core/compared-sizes.ts';
import { namesInExpression } from '../../core/expressions/evaluate.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { ProblemFile } from '../../core/problem.ts';
import { constraintsOnCalls, listedConditions, type RefusedUnless, sizeConditions } from '../size-conditions.ts';
import { pythonCondition } from './python-expression.ts';
import { pythonString } from './python-names.ts';

/**
 * Python statements of a function that returns the first condition that does not hold: of the problem, or of a kernel its
 * limits, the constraints that name dimensions (a candidate's others hold), and the sizes that were compared.
 */
export function brokenConditions(
  problem: ProblemFile,
  kernel: { readonly candidate: Candidate; readonly compared?: ComparedSizes | undefined } | undefined,
  nameOf: (name: string) => string,
): string[] {
  const file = kernel?.candidate.kernel.file;
  const conditions: RefusedUnless[] = [
    ...listedConditions((file ?? problem).limits, 'limits'),
    ...(file ? constraintsOnCalls(file, problem) : []),
    ...sizeConditions(problem, kernel?.compared),
  ];
  return conditions.flatMap(({ condition, refusal, hint = '' }) => {
    const values = namesInExpression(condition).map((name) => `(${pythonString(name)}, ${nameOf(name)})`);
    const texts = [pythonString(refusal), `[${values.join(', ')}]`, ...(hint === '' ? [] : [pythonString(hint)])];
    return [
      `if not (${pythonCondition(condition, { kind: 'numbers', nameOf })}):`,
      `    return broken(${texts.join(', ')})`,
    ];
  });
}
