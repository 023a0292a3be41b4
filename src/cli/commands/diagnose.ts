import { diagnoseKernel } from '../../app/diagnose.ts';
import { diagnosisTerminal } from '../../reports/diagnosis-terminal.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { evaluateRequest } from '../judging-request.ts';
import type { EvidenceOptions, JudgingOptions } from '../options.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<JudgingOptions & EvidenceOptions & { target: string }> = async (options, context) => {
  const { streams } = context;
  const report = await diagnoseKernel(await evaluateRequest(options, context));
  if (options.json) printJson(streams, report);
  else streams.out.write(diagnosisTerminal(report, paintFor(streams.out)));
  return exitCodeOfStatus(report.evaluation.status);
};
