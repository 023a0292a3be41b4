import type { LaunchPlan } from '../../core/launch-plan.ts';
import { planOrRefusal } from '../launches/plan-refusal.ts';
import type { Refused } from '../launches/refusal.ts';
import { DECLARED, describeCheck } from '../oracle/check.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import { CheckRuns } from './check-runs.ts';
import type { VerifyRequest } from './verify-request.ts';

/** A check whose inputs lie in the device's memory. */
export interface OpenedCheck {
  readonly ok: true;
  readonly name: string;
  readonly plan: LaunchPlan;
  readonly prepared: PreparedCheck;
  /** The caller closes them. */
  readonly runs: CheckRuns;
}

/**
 * @param check the main workload's by default.
 * @throws as `verify`.
 */
export async function openCheck(
  request: VerifyRequest,
  check: Parameters<typeof describeCheck>[0] & { readonly isMain: boolean } = mainCheck(request),
): Promise<OpenedCheck | Refused> {
  const { problem, seed, oracle } = request;
  const { dimensions, generatorSet, isMain } = check;
  const name = describeCheck(check);
  const plan = planOrRefusal(request, dimensions, name);
  if ('ok' in plan) return plan;
  const prepared = oracle.check({ problem, seed, dimensions, generatorSet });
  const runs = await CheckRuns.open({ ...request, name, plan, contents: prepared.inputs.bytes, isMain });
  return { ok: true, name, plan, prepared, runs };
}

const mainCheck = ({ dimensions }: VerifyRequest) => ({ dimensions, generatorSet: DECLARED, isMain: true });
