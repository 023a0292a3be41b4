import { checkTarget } from '../../app/check.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { checkTerminal } from '../../reports/check-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<RequestOf<'check'>> = async (request, { streams, json }) => {
  const report = await checkTarget(request);
  if (json) printJson(streams, report);
  else streams.out.write(checkTerminal(report, paintFor(streams.out)));
  return EXIT.ok;
};
