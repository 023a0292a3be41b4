import { type ResumeOutcome, resumeRun } from '../../app/resume.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { serveAgents } from '../../mcp/serve-agents.ts';
import type { CommandContext, Run } from '../context.ts';
import { exitCodeOfStop } from '../exit-code.ts';
import { surroundings } from '../judging-request.ts';
import { printOutcome } from '../print-outcome.ts';
import { withProgress } from '../progress.ts';
import { withLease } from '../with-lease.ts';

function describeFinished({ result: { stopReason, detail } }: ResumeOutcome): string {
  const more = stopReason.endsWith('-spent') ? ' It continues with a larger budget, e.g. --max-evaluations 60.' : '';
  return `The run has ended: ${stopReason}: ${detail}. Nothing was done.${more}\n`;
}

export const run: Run<RequestOf<'resume'>> = (request, context) =>
  withLease(request, context, async () => ({ exitCode: await goOn(request, context) }));

async function goOn(request: RequestOf<'resume'>, context: CommandContext): Promise<number> {
  const outcome = await withProgress(context, (told) =>
    resumeRun({ ...request, ...surroundings(context), ...told, serveAgents }),
  );
  if (outcome.isFinishedAlready) context.streams.err.write(describeFinished(outcome));
  printOutcome(context, outcome);
  return exitCodeOfStop(outcome.result.stopReason);
}
