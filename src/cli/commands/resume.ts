import { type LargerBudgets, type ResumeOutcome, resumeRun } from '../../app/resume.ts';
import { askTrust } from '../ask-trust.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStop } from '../exit-code.ts';
import { printOutcome } from '../print-outcome.ts';
import { createProgress } from '../progress.ts';

interface Options {
  run: string;
  store: string;
  maxEvaluations?: number;
  maxMinutes?: number;
  maxGpuMinutes?: number;
  maxMoney?: number;
  trust?: boolean;
  json?: boolean;
}

const largerBudgets = ({ maxEvaluations, maxMinutes, maxGpuMinutes, maxMoney }: Options): LargerBudgets => ({
  maximumEvaluations: maxEvaluations,
  maximumMinutes: maxMinutes,
  maximumGpuMinutes: maxGpuMinutes,
  maximumMoney: maxMoney,
});

function describeFinished({ result: { stopReason, detail } }: ResumeOutcome): string {
  const more = stopReason.endsWith('-spent') ? ' It goes on with a larger budget, e.g. --max-evaluations 60.' : '';
  return `The run has ended: ${stopReason}: ${detail}. Nothing was done.${more}\n`;
}

export const run: Run<Options> = async (options, context) => {
  const { signal, streams } = context;
  const progress = createProgress(streams.err);
  try {
    const outcome = await resumeRun({
      store: options.store,
      run: options.run,
      extendBudgets: largerBudgets(options),
      signal,
      ...askTrust(options, context),
      onEvent: progress.onEvent,
      onHistory: progress.onHistory,
    });
    progress.end();
    if (outcome.isFinishedAlready) streams.err.write(describeFinished(outcome));
    printOutcome(streams, outcome, options.json ?? false);
    return exitCodeOfStop(outcome.result.stopReason);
  } finally {
    progress.end();
  }
};
