import { diagnoseKernel } from '../../app/diagnose.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { diagnosisTerminal } from '../../reports/diagnosis-terminal.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<RequestOf<'diagnose'>> = async (request, context) => {
  const { streams, json } = context;
  const report = await diagnoseKernel(await onDevice('diagnose', request, context));
  if (json) printJson(streams, report);
  else streams.out.write(diagnosisTerminal(report, paintFor(streams.out)));
  return exitCodeOfStatus(report.evaluation.status);
};
