import { listRuns } from '../../app/runs.ts';
import { EXIT } from '../../core/errors.ts';
import { runsTerminal } from '../../reports/runs-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

interface Options {
  store: string;
  problem?: string;
  device?: string;
  rebuild?: boolean;
  json?: boolean;
}

export const run: Run<Options> = async ({ json, ...query }, { streams }) => {
  const report = listRuns(query);
  if (json) printJson(streams, report);
  else streams.out.write(runsTerminal(report, new Date(), paintFor(streams.out)));
  return EXIT.ok;
};
