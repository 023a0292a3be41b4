import { listRuns } from '../../app/runs.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { runsDocument } from '../../reports/documents/runs.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

export const run: Run<RequestOf<'runs'>> = async (request, context) => {
  const report = listRuns(request);
  printResult(context, report, (listed) => runsDocument(listed, new Date()));
  return EXIT.ok;
};
