import { readLog } from '../../app/log.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { logDocument } from '../../reports/documents/log.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

export const run: Run<RequestOf<'log'>> = async (request, context) => {
  printResult(context, readLog(request), logDocument);
  return EXIT.ok;
};
