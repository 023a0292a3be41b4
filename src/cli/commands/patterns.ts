import { patternRecords } from '../../app/patterns.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { patternsTerminal } from '../../reports/patterns-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<RequestOf<'patterns'>> = async (request, { streams, json }) => {
  const report = patternRecords(request);
  if (json) printJson(streams, report);
  else streams.out.write(patternsTerminal(report, paintFor(streams.out)));
  return EXIT.ok;
};
