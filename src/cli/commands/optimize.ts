import { optimizePerWorkload } from '../../app/dispatch.ts';
import { optimizeProblem } from '../../app/optimize.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { serveAgents } from '../../mcp/serve-agents.ts';
import type { CommandContext, Run } from '../context.ts';
import { exitCodeOfStop, exitCodeOfStops } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { printOutcome, printPerWorkload } from '../print-outcome.ts';
import { createProgress } from '../progress.ts';
import { withLease } from '../with-lease.ts';

export const run: Run<RequestOf<'optimize'>> = (request, context) =>
  withLease(request, context, async () => ({ exitCode: await search(request, context) }));

async function search(request: RequestOf<'optimize'>, context: CommandContext): Promise<number> {
  const { streams, verbose } = context;
  const onStep = (text: string): void => void streams.err.write(`${text}\n`);
  const { onEvent, onStage, end } = createProgress(streams.err, { verbose });
  try {
    const asked = { ...(await onDevice('optimize', request, context)), onEvent, onStage, onStep, serveAgents };
    if (asked.objective === 'per-workload') {
      const outcome = await optimizePerWorkload(asked);
      end();
      printPerWorkload(context, outcome);
      return exitCodeOfStops(outcome.runs.map(({ result }) => result.stopReason));
    }
    const outcome = await optimizeProblem(asked);
    end();
    printOutcome(context, outcome);
    return exitCodeOfStop(outcome.result.stopReason);
  } finally {
    end();
  }
}
