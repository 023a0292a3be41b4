import type { DeviceSpec } from '../../core/device-spec.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Candidate } from '../../core/kernel.ts';
import { whyNotTaken } from '../../core/plan/takes-workload.ts';
import type { Workload } from '../../core/problem.ts';
import { planLaunches } from '../../evaluation/launches/plan-launches.ts';
import type { Bench } from './check-submission.ts';

/** A mistake in a launch plan is told at once and costs nothing. @throws WarpsmithError. */
export function requireUsablePlan(
  { problem, workload }: Pick<Bench, 'problem' | 'workload'>,
  candidate: Candidate,
  spec: DeviceSpec,
): void {
  const { dimensions } = workload;
  const refused = whyNotTaken(candidate, dimensions);
  if (refused !== undefined) throw notTaken(refused, workload);
  planLaunches({ problem, candidate, dimensions, spec });
}

const notTaken = (refused: string, { name }: Workload): WarpsmithError =>
  new WarpsmithError({
    code: 'workload-not-taken',
    message: `The kernel does not take the workload ${name}.`,
    file: 'submission/kernel.json',
    received: `needs ${refused}`,
    expected: `limits and constraints that ${name} meets`,
    hint: 'Correct `limits`, `constraints` or `parameters`.',
  });
