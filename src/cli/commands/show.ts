import { show } from '../../app/runs.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { showDocument } from '../../reports/documents/show.ts';
import { printing, type Run } from '../context.ts';

export const run: Run<RequestOf<'show'>> = printing((request) => {
  const { store, what } = completeRequest('show', request);
  return show(store, what);
}, showDocument);
