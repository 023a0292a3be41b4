import type { DeviceFailure } from '../../core/device-values.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import { WorkerProcessEnded } from '../../process/worker-process.ts';
import { failure } from '../failure.ts';
import { launchedFunctions } from './launched-functions.ts';

/** Turns the end of the worker during a plan's launches into a failure of the plan. Rethrows other errors. */
export function endedWhileRunning(error: unknown, plan: LaunchPlan, timeoutMs: number): DeviceFailure {
  if (!(error instanceof WorkerProcessEnded)) throw error;
  const names = launchedFunctions(plan).join(', ') || 'the launch sequence';
  if (error.reason === 'timed-out')
    return failure('timed-out', `${names} did not finish within ${Math.round(timeoutMs)} ms; its process was ended`);
  return failure('crashed', `${names}: ${error.message}`);
}

/** The same while the driver compiled or loaded the code. */
export function endedWhileLoading(error: unknown): DeviceFailure {
  if (!(error instanceof WorkerProcessEnded)) throw error;
  const status = error.reason === 'timed-out' ? 'timed-out' : 'crashed';
  return failure(status, `${error.message} while the driver loaded the code`);
}
