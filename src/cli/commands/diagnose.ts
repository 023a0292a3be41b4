import { diagnoseKernel } from '../../app/diagnose.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { diagnosisDocument } from '../../reports/documents/diagnosis.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

export const run: Run<RequestOf<'diagnose'>> = async (request, context) => {
  const asked = await onDevice('diagnose', request, context);
  const report = await withStatus(context.streams.err, (told) => diagnoseKernel({ ...asked, ...told }));
  printResult(context, report, diagnosisDocument);
  return exitCodeOfStatus(report.evaluation.status);
};
