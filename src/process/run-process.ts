import { type ProcessOutcome, type ProcessRequest, runHere } from './run-here.ts';
import { isStarterWorthwhile, runByStarter } from './starter.ts';

export type { ProcessOutcome, ProcessRequest } from './run-here.ts';

/**
 * Runs a program in its own process group and returns how it ended; never rejects because of the program. At its end, by
 * itself or by a limit, all remaining processes of its group are killed. A large process has a small one start it.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessOutcome> {
  if (request.signal?.aborted || !isStarterWorthwhile()) return runHere(request);
  return (await runByStarter(request)) ?? runHere(request);
}
