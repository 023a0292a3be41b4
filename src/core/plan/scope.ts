import { evaluateExpression } from '../expressions/evaluate.ts';
import type { KernelFile, ParameterValues } from '../kernel.ts';
import type { Dimensions, ProblemFile } from '../problem.ts';
import { roundTo } from '../rounding.ts';

export type Scope = Readonly<Record<string, number>>;

/** Names that every expression of a launch step may use besides dimensions, scalars and parameters. */
export const DEVICE_NAMES = ['device.smCount', 'kernel.ctasPerSm'] as const;
/** In a step with `repeat`, and in the steps that it repeats: the number of the innermost repetition, from 0. */
export const REPEAT_INDEX = 'repeat.index';

/** The names that a repetition adds: its number, also by the name that the step gives it. */
export const namesOfRepetition = (index: string | undefined): string[] =>
  index === undefined ? [REPEAT_INDEX] : [REPEAT_INDEX, index];

export const repetitionScope = (
  step: { readonly index?: string | undefined },
  number: number,
  scope: Scope,
): Scope => ({
  ...scope,
  ...Object.fromEntries(namesOfRepetition(step.index).map((name) => [name, number])),
});

/** Names that problem.json's own expressions may use. */
export const namesOfProblem = (problem: ProblemFile): string[] => Object.keys(problem.dimensions);

/** Names that `workspaces` and `steps` of kernel.json may use. */
export const namesOfPlan = (problem: ProblemFile, kernel: KernelFile): string[] => [
  ...Object.keys(problem.dimensions),
  ...Object.keys(problem.scalars ?? {}),
  ...Object.keys(kernel.parameters ?? {}),
  ...DEVICE_NAMES,
];

/**
 * Values of the problem's scalars, each rounded to its dtype.
 *
 * @throws WarpsmithError when an expression has no finite value.
 */
export const evaluateScalars = (problem: ProblemFile, dimensions: Dimensions, file?: string): Record<string, number> =>
  Object.fromEntries(
    Object.entries(problem.scalars ?? {}).map(([name, { dtype, value }]) => [
      name,
      roundTo(dtype)(evaluateExpression(value, dimensions, { file, path: `scalars.${name}.value` })),
    ]),
  );

/**
 * All names of an expression in a launch step. `kernel.ctasPerSm` is 1 until the compiled function is known.
 *
 * @throws WarpsmithError as `evaluateScalars`.
 */
export const planScope = (request: {
  problem: ProblemFile;
  parameters: ParameterValues;
  dimensions: Dimensions;
  device: { smCount: number };
  ctasPerSm?: number;
}): Scope => ({
  ...request.dimensions,
  ...evaluateScalars(request.problem, request.dimensions),
  ...request.parameters,
  'device.smCount': request.device.smCount,
  'kernel.ctasPerSm': request.ctasPerSm ?? 1,
});
