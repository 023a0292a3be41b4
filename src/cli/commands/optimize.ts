import { optimizePerWorkload } from '../../app/dispatch.ts';
import { optimizeProblem } from '../../app/optimize.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { serveAgents } from '../../mcp/serve-agents.ts';
import type { CommandContext, Run } from '../context.ts';
import { exitCodeOfStop, exitCodeOfStops } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { printOutcome, printPerWorkload } from '../print-outcome.ts';
import { withProgress } from '../progress.ts';
import { withLease } from '../with-lease.ts';

export const run: Run<RequestOf<'optimize'>> = (request, context) =>
  withLease(request, context, async () => ({ exitCode: await search(request, context) }));

async function search(request: RequestOf<'optimize'>, context: CommandContext): Promise<number> {
  const outcome = await withProgress(context, async ({ onEvent, onStage, onStep }) => {
    const asked = { ...(await onDevice('optimize', request, context)), onEvent, onStage, onStep, serveAgents };
    return asked.objective === 'per-workload' ? optimizePerWorkload(asked) : optimizeProblem(asked);
  });
  if ('runs' in outcome) {
    printPerWorkload(context, outcome);
    return exitCodeOfStops(outcome.runs.map(({ result }) => result.stopReason));
  }
  printOutcome(context, outcome);
  return exitCodeOfStop(outcome.result.stopReason);
}
