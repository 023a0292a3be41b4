import type { LaunchPlan } from '../../core/launch-plan.ts';

/** Names of the functions a plan launches, each once. */
export const launchedFunctions = (plan: LaunchPlan): string[] => [
  ...new Set(plan.steps.flatMap((step) => (step.kind === 'launch' ? [step.functionName] : []))),
];
