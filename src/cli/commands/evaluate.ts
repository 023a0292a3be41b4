import { evaluateKernel } from '../../app/evaluate.ts';
import { evaluationTerminal } from '../../reports/evaluation-terminal.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { evaluateRequest } from '../judging-request.ts';
import type { EvidenceOptions, JudgingOptions } from '../options.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<JudgingOptions & EvidenceOptions & { target: string }> = async (options, context) => {
  const { streams } = context;
  const evaluation = await evaluateKernel(await evaluateRequest(options, context));
  if (options.json) printJson(streams, evaluation);
  else streams.out.write(evaluationTerminal(evaluation, paintFor(streams.out)));
  return exitCodeOfStatus(evaluation.status);
};
