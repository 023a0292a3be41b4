import { evaluateExpression, namesInExpression } from '../../../core/expressions/evaluate.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';

/**
 * The shape with the flags, dimensions of listed values, with which every output is written that is asked for by one: what is written only then shows no mistake
 * otherwise. The shape itself where none is, or all are asked for.
 */
export function askingForOutputs(problem: ProblemFile, shape: Dimensions): Dimensions {
  const asked: Record<string, number> = { ...shape };
  let isOther = false;
  for (const { when } of Object.values(problem.outputs))
    for (const name of when === undefined ? [] : namesInExpression(when)) {
      const isWritten = (value: number): boolean => evaluateExpression(when!, { ...asked, [name]: value }) !== 0;
      const value = isWritten(asked[name]!) ? undefined : problem.dimensions[name]?.values?.find(isWritten);
      if (value === undefined) continue;
      asked[name] = value;
      isOther = true;
    }
  return isOther ? asked : shape;
}
