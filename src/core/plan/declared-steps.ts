import type { Expression } from '../expressions/syntax-tree.ts';
import type { KernelFile, LaunchStepDeclaration, RepeatStepDeclaration, StepDeclaration } from '../kernel.ts';

/** A step as kernel.json has it, the place where it stands, and the repeated steps around it, outermost first. */
export interface PlacedStep<Step = StepDeclaration> {
  readonly step: Step;
  /** `steps[2].steps[0]`. */
  readonly path: string;
  readonly within: readonly RepeatStepDeclaration[];
}

/** All steps, those that are repeated behind the one that repeats them. */
export const placedSteps = (
  steps: readonly StepDeclaration[],
  path = 'steps',
  within: readonly RepeatStepDeclaration[] = [],
): PlacedStep[] =>
  steps.flatMap((step, index) => {
    const own = { step, path: `${path}[${index}]`, within };
    return 'steps' in step ? [own, ...placedSteps(step.steps, `${own.path}.steps`, [...within, step])] : [own];
  });

/** The launches among steps, repeated ones once. */
export const placedLaunches = (steps: readonly StepDeclaration[]): PlacedStep<LaunchStepDeclaration>[] =>
  placedSteps(steps).flatMap(({ step, ...place }) => ('function' in step ? [{ step, ...place }] : []));

export const launchesOf = (steps: readonly StepDeclaration[]): LaunchStepDeclaration[] =>
  placedLaunches(steps).map(({ step }) => step);

/** What says how a launch is made: its grid, its CTAs and its numbers. */
export const expressionsOfLaunch = ({ grid, block, arguments: given }: LaunchStepDeclaration): Expression[] => [
  ...grid,
  ...block,
  ...given.flatMap((one) => ('scalar' in one ? [one.scalar] : [])),
];

/** Whether steps or workspaces of a kernel name it anywhere. */
export const usesName = ({ steps, workspaces }: KernelFile, name: string): boolean =>
  JSON.stringify({ steps, workspaces }).includes(name);

/** Names of the functions that steps launch, each once. */
export const functionsOf = (steps: readonly StepDeclaration[]): string[] => [
  ...new Set(launchesOf(steps).map((step) => step.function)),
];

/** Steps with their launches changed, at any depth. */
export const mapLaunches = (
  steps: readonly StepDeclaration[],
  change: (step: LaunchStepDeclaration) => LaunchStepDeclaration,
): StepDeclaration[] =>
  steps.map((step) => {
    if ('function' in step) return change(step);
    return 'steps' in step ? { ...step, steps: mapLaunches(step.steps, change) } : step;
  });
