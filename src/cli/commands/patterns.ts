import { patternRecords } from '../../app/patterns.ts';
import { EXIT } from '../../core/errors.ts';
import { patternsTerminal } from '../../reports/patterns-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

interface Options {
  store: string;
  problem?: string;
  device?: string;
  evidence?: boolean;
  json?: boolean;
}

export const run: Run<Options> = async ({ json, ...query }, { streams }) => {
  const report = patternRecords(query);
  if (json) printJson(streams, report);
  else streams.out.write(patternsTerminal(report, paintFor(streams.out)));
  return EXIT.ok;
};
