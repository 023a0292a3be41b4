import { listRuns } from '../../app/runs.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { runsTerminal } from '../../reports/runs-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<RequestOf<'runs'>> = async (request, { streams, json }) => {
  const report = listRuns(request);
  if (json) printJson(streams, report);
  else streams.out.write(runsTerminal(report, new Date(), paintFor(streams.out)));
  return EXIT.ok;
};
