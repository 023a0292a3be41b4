import { searchBench, writeSearchBenchPlot } from '../../app/search-bench.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { searchBenchDocument } from '../../reports/documents/search-bench.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

export const run: Run<RequestOf<'search-bench'>> = async (request, context) => {
  const { streams, signal } = context;
  const report = await withStatus(streams.err, (told) => searchBench({ ...request, signal, ...told }));
  if (request.svg !== undefined) writeSearchBenchPlot(report, request.svg);
  printResult(context, report, searchBenchDocument);
  return EXIT.ok;
};
