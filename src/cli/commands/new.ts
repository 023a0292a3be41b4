import { newProblem } from '../../app/new-problem.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { newProblemDocument } from '../../reports/documents/new-problem.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

export const run: Run<RequestOf<'new'>> = async (request, context) => {
  printResult(context, await newProblem(request), newProblemDocument);
  return EXIT.ok;
};
