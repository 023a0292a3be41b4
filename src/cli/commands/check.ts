import { checkTarget } from '../../app/check.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { checkDocument } from '../../reports/documents/check.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

export const run: Run<RequestOf<'check'>> = async (request, context) => {
  const report = await checkTarget(request);
  printResult(context, report, checkDocument);
  return EXIT.ok;
};
