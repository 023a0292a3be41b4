import { type OptimizeOutcome, optimizeProblem } from '../../app/optimize.ts';
import { runTerminal } from '../../reports/run-terminal.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStop } from '../exit-code.ts';
import { judgingRequest, noteIgnored } from '../judging-request.ts';
import type { JudgingOptions } from '../options.ts';
import { paintFor, printJson, type Streams } from '../output.ts';
import { createProgress } from '../progress.ts';

interface Options extends JudgingOptions {
  target: string;
  store: string;
  maxEvaluations: number;
  maxMinutes?: number;
  goal?: string;
  requireSanitizer?: boolean;
}

/** The report, with the two paths as its last lines. */
function printText({ out }: Streams, { view, reportPath, bestKernelPath }: OptimizeOutcome): void {
  out.write(`${runTerminal(view, paintFor(out))}\n`);
  out.write(`Report: ${reportPath}\n`);
  out.write(`Best kernel: ${bestKernelPath ?? 'none, because the start did not pass'}\n`);
}

const outcomeJson = ({ view, runFolder, reportPath, bestFolder, bestKernelPath }: OptimizeOutcome): object => ({
  ...view,
  runFolder,
  reportPath,
  bestFolder: bestFolder ?? null,
  bestKernelPath: bestKernelPath ?? null,
});

export const run: Run<Options> = async (options, context) => {
  const { streams } = context;
  const request = await judgingRequest(options, context);
  noteIgnored(options, request.device, context);
  const progress = createProgress(streams.err);
  try {
    const outcome = await optimizeProblem({
      ...request,
      store: options.store,
      budgets: { maximumEvaluations: options.maxEvaluations, maximumMinutes: options.maxMinutes ?? null },
      onEvent: progress.onEvent,
      ...(options.goal === undefined ? {} : { goal: options.goal }),
      ...(options.requireSanitizer === undefined ? {} : { requireSanitizer: options.requireSanitizer }),
    });
    progress.end();
    if (options.json) printJson(streams, outcomeJson(outcome));
    else printText(streams, outcome);
    return exitCodeOfStop(outcome.result.stopReason);
  } finally {
    progress.end();
  }
};
