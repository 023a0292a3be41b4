import type { Candidate } from '../kernel.ts';
import type { Dimensions } from '../problem.ts';
import { failedLimit } from './limits.ts';
import { failedConstraint } from './parameters.ts';

/** The limit of the kernel or the constraint of its parameters that does not hold for a workload. */
export const whyNotTaken = (
  { kernel, parameters }: Pick<Candidate, 'kernel' | 'parameters'>,
  dimensions: Dimensions,
): string | undefined => failedLimit(kernel.file, dimensions) ?? failedConstraint(kernel.file, parameters, dimensions);

/** Whether a candidate may run a workload. */
export const takesWorkload = (candidate: Candidate, dimensions: Dimensions): boolean =>
  whyNotTaken(candidate, dimensions) === undefined;

/** Whether it may run all of them. */
export const takesWorkloads = (
  candidate: Candidate,
  workloads: readonly { readonly dimensions: Dimensions }[],
): boolean => workloads.every(({ dimensions }) => takesWorkload(candidate, dimensions));
