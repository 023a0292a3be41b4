import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Dimensions } from '../../core/problem.ts';
import { CheckRuns, type CheckRunsOptions } from './check-runs.ts';

export interface CopyRequest
  extends Pick<CheckRunsOptions, 'device' | 'seed' | 'timeoutMs' | 'instructionsPerCta' | 'signal'> {
  readonly planFor: (dimensions: Dimensions) => LaunchPlan;
}

/** What a copy of the candidate's module is run with. */
export interface CopyRun {
  readonly dimensions: Dimensions;
  readonly contents: ReadonlyMap<string, Uint8Array>;
  /** Of the check whose inputs these are. */
  readonly name: string;
}

/** What opens a copy of the candidate's module that keeps something; `undefined` if there is nothing to keep, or the device has no memory left for the copy. */
export function openCopy<Log>(open: () => Log | undefined): Log | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}

/** Runs a copy of the candidate's module that keeps something of what it does. Whether it ended. */
export async function runCopy(request: CopyRequest, module: LoadedModule, run: CopyRun): Promise<boolean> {
  try {
    const plan = request.planFor(run.dimensions);
    const runs = await CheckRuns.open({ ...request, ...run, module, plan, isMain: false });
    try {
      return (await runs.natural()).ok;
    } finally {
      await runs.close();
    }
  } catch (error) {
    if (error instanceof WarpsmithError) return false;
    throw error;
  }
}
