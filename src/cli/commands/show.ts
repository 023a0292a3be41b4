import { show } from '../../app/runs.ts';
import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { showTerminal } from '../../reports/show-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<RequestOf<'show'>> = async (request, { streams, json }) => {
  const { store, what } = completeRequest('show', request);
  const shown = show(store, what);
  if (json) printJson(streams, shown);
  else streams.out.write(showTerminal(shown, paintFor(streams.out)));
  return EXIT.ok;
};
