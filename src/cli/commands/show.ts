import { show } from '../../app/runs.ts';
import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { showDocument } from '../../reports/documents/show.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

export const run: Run<RequestOf<'show'>> = async (request, context) => {
  const { store, what } = completeRequest('show', request);
  const shown = show(store, what);
  printResult(context, shown, showDocument);
  return EXIT.ok;
};
