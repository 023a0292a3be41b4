import { patternRecords } from '../../app/patterns.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { patternsDocument } from '../../reports/documents/patterns.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

export const run: Run<RequestOf<'patterns'>> = async (request, context) => {
  const report = patternRecords(request);
  printResult(context, report, patternsDocument);
  return EXIT.ok;
};
