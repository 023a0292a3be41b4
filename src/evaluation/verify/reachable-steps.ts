import { canBe, type ExpressionScope, namesInExpression } from '../../core/expressions/evaluate.ts';
import type { LaunchStepDeclaration } from '../../core/kernel.ts';
import { type PlacedStep, placedLaunches } from '../../core/plan/declared-steps.ts';
import type { Dimensions } from '../../core/problem.ts';
import type { VerifyRequest } from './verify-request.ts';

type Steps = Pick<VerifyRequest, 'problem' | 'candidate'>;

/** Whether a step may run where these names have these values. */
const mayRun = ({ step, within }: PlacedStep<LaunchStepDeclaration>, known: ExpressionScope): boolean =>
  [step, ...within].every(({ when = 1 }) => canBe(true, when, known));

/** Functions that some shape may launch: a parameter may leave steps out for all of them. */
export function mayBeLaunched({ candidate: { kernel, parameters } }: Steps): string[] {
  const open = placedLaunches(kernel.file.steps).filter((placed) => mayRun(placed, parameters));
  return [...new Set(open.map(({ step }) => step.function))];
}

/** Functions that run with some values of a listed dimension only, such as a head dimension, none of which the kernel takes with its parameters on this device. */
export function functionsNotTaken(
  { problem, candidate: { kernel, parameters } }: Steps,
  shapes: readonly Dimensions[],
  takes: (shape: Dimensions) => boolean,
): ReadonlySet<string> {
  const listed = Object.entries(problem.file.dimensions).flatMap(([name, { values }]) =>
    values ? [{ name, values }] : [],
  );
  const isTaken = (name: string, value: number): boolean => shapes.some((shape) => takes({ ...shape, [name]: value }));
  const others = placedLaunches(kernel.file.steps).filter((placed) =>
    listed.some(({ name, values }) => {
      const open = values.filter((value) => mayRun(placed, { ...parameters, [name]: value }));
      return open.length > 0 && open.length < values.length && !open.some((value) => isTaken(name, value));
    }),
  );
  return new Set(others.map(({ step }) => step.function));
}

/** Whether CTAs have other extents in other shapes, or on other GPUs. */
export const blocksFollowSizes = ({ problem, candidate }: Steps): boolean =>
  placedLaunches(candidate.kernel.file.steps).some(({ step }) =>
    step.block.some((extent) =>
      namesInExpression(extent).some((name) => name in problem.file.dimensions || name.startsWith('device.')),
    ),
  );
