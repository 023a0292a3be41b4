import { searchBench, writeSearchBenchPlot } from '../../app/search-bench.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { searchBenchTerminal } from '../../reports/search-bench-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';
import { withStatusLine } from '../status-line.ts';

export const run: Run<RequestOf<'search-bench'>> = async (request, { streams, signal, json }) => {
  const report = await withStatusLine(streams.err, (onStep) => searchBench({ ...request, signal, onStep }));
  if (request.svg !== undefined) writeSearchBenchPlot(report, request.svg);
  if (json) printJson(streams, report);
  else streams.out.write(searchBenchTerminal(report, paintFor(streams.out)));
  return EXIT.ok;
};
