import type { Candidate } from '../kernel.ts';
import type { Dimensions } from '../problem.ts';
import { failedLimit } from './limits.ts';
import { failedConstraint } from './parameters.ts';

/** Whether a candidate may run a workload: its kernel's limits and its parameters' constraints hold there. */
export const takesWorkload = ({ kernel, parameters }: Candidate, dimensions: Dimensions): boolean =>
  failedLimit(kernel.file, dimensions) === undefined &&
  failedConstraint(kernel.file, parameters, dimensions) === undefined;
