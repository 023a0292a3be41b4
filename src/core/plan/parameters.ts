import { WarpsmithError } from '../errors.ts';
import { evaluateExpression, namesInExpression } from '../expressions/evaluate.ts';
import type { KernelFile, ParameterValues } from '../kernel.ts';
import { suggestName } from '../nearest-name.ts';
import type { Dimensions } from '../problem.ts';
import { describeCondition } from './describe-condition.ts';

/** More assignments than any search visits; a guard against a slip in `values`. */
const MAXIMUM_ASSIGNMENTS = 1_000_000;

/**
 * The given values with defaults filled in, in declared order.
 *
 * @throws WarpsmithError `unknown-parameter` or `parameter-not-allowed`.
 */
export const completeParameters = (kernel: KernelFile, values: ParameterValues): ParameterValues => {
  const declarations = kernel.parameters ?? {};
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(declarations, name)) throw unknownParameter(kernel, name);
  }
  const complete: Record<string, number> = {};
  for (const [name, declaration] of Object.entries(declarations)) {
    const value = Object.hasOwn(values, name) ? values[name]! : declaration.default;
    if (!declaration.values.includes(value)) throw notAllowed(kernel, name, value, declaration.values);
    complete[name] = value;
  }
  return complete;
};

/**
 * The first constraint these parameters fail, with the values in it; `undefined` when they are valid. Without
 * dimensions, constraints that name one are left out.
 *
 * @throws WarpsmithError when a constraint can't be evaluated.
 */
export const failedConstraint = (
  kernel: KernelFile,
  parameters: ParameterValues,
  dimensions?: Dimensions,
): string | undefined => {
  const scope = { ...dimensions, ...parameters };
  for (const [index, constraint] of (kernel.constraints ?? []).entries()) {
    const needsDimensions = namesInExpression(constraint).some((name) => !Object.hasOwn(parameters, name));
    if (needsDimensions && dimensions === undefined) continue;
    const holds = evaluateExpression(constraint, scope, { path: `constraints[${index}]` }) !== 0;
    if (!holds) return describeCondition(constraint, scope);
  }
  return undefined;
};

/**
 * Every assignment of the parameters that meets all constraints; one empty assignment when there are no parameters.
 * The last parameter varies fastest.
 *
 * @throws WarpsmithError `too-many-assignments` above a million combinations.
 */
export const validAssignments = (kernel: KernelFile, dimensions?: Dimensions): ParameterValues[] => {
  const declarations = Object.entries(kernel.parameters ?? {});
  const count = declarations.reduce((product, [, { values }]) => product * values.length, 1);
  if (count > MAXIMUM_ASSIGNMENTS) throw tooMany(kernel, count);
  let assignments: ParameterValues[] = [{}];
  for (const [name, { values }] of declarations) {
    assignments = assignments.flatMap((assignment) => values.map((value) => ({ ...assignment, [name]: value })));
  }
  return assignments.filter((assignment) => failedConstraint(kernel, assignment, dimensions) === undefined);
};

const unknownParameter = (kernel: KernelFile, name: string): Error => {
  const names = Object.keys(kernel.parameters ?? {});
  return new WarpsmithError({
    code: 'unknown-parameter',
    message: `Kernel ${kernel.name} has no parameter \`${name}\`.`,
    received: name,
    expected: names.length === 0 ? 'no parameters' : `one of ${names.join(', ')}`,
    hint: suggestName(name, names, 'Parameters'),
  });
};

const notAllowed = (kernel: KernelFile, name: string, value: number, values: readonly number[]): Error =>
  new WarpsmithError({
    code: 'parameter-not-allowed',
    message: `Parameter \`${name}\` of kernel ${kernel.name} can't be ${value}.`,
    received: String(value),
    expected: `one of ${values.join(', ')}`,
    hint: `Add ${value} to parameters.${name}.values in kernel.json if the kernel supports it.`,
  });

const tooMany = (kernel: KernelFile, count: number): Error =>
  new WarpsmithError({
    code: 'too-many-assignments',
    message: `The parameters of kernel ${kernel.name} have ${count} combinations.`,
    path: 'parameters',
    received: String(count),
    expected: `at most ${MAXIMUM_ASSIGNMENTS}`,
    hint: 'Give fewer values to some parameters.',
  });
