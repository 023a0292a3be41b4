import { diagnoseKernel } from '../../app/diagnose.ts';
import { diagnosisTerminal } from '../../reports/diagnosis-terminal.ts';
import { deviceOrDefault, type Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { judgingRequest } from '../judging-request.ts';
import { paintFor, printJson } from '../output.ts';
import type { JudgingOptions } from '../program.ts';

export const run: Run<JudgingOptions & { target: string }> = async (options, context) => {
  const { streams } = context;
  const device = deviceOrDefault(options.device, context);
  const report = await diagnoseKernel({ ...judgingRequest(options, context), device, target: options.target });
  if (options.json) printJson(streams, report);
  else streams.out.write(diagnosisTerminal(report, paintFor(streams.out)));
  return exitCodeOfStatus(report.evaluation.status);
};
