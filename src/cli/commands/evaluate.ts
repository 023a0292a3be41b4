import { evaluateKernel } from '../../app/evaluate.ts';
import { evaluationTerminal } from '../../reports/evaluation-terminal.ts';
import { deviceOrDefault, type Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { judgingRequest } from '../judging-request.ts';
import { paintFor, printJson } from '../output.ts';
import type { JudgingOptions } from '../program.ts';

export const run: Run<JudgingOptions & { target: string }> = async (options, context) => {
  const { streams } = context;
  const device = deviceOrDefault(options.device, context);
  const evaluation = await evaluateKernel({ ...judgingRequest(options, context), device, target: options.target });
  if (options.json) printJson(streams, evaluation);
  else streams.out.write(evaluationTerminal(evaluation, paintFor(streams.out)));
  return exitCodeOfStatus(evaluation.status);
};
