import {
  compareReports,
  formatOfFile,
  REPORT_FORMATS,
  type Report,
  type ReportFormat,
  readReport,
  saveReport,
} from '../../app/report.ts';
import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { runDocument } from '../../reports/documents/run.ts';
import { runComparisonDocument } from '../../reports/documents/run-comparison.ts';
import { printTerminal } from '../../reports/print/terminal.ts';
import type { Run } from '../context.ts';
import { printDocument } from '../output.ts';

/** The requested format, else the one of the file's name, else text for people. */
function formatOf({ format, output }: RequestOf<'report'>, json: boolean): ReportFormat | 'terminal' {
  if (json) return 'json';
  return format ?? (output === undefined ? 'terminal' : formatOfFile(output));
}

/** The report of a run, or of two. */
function reportOf(request: RequestOf<'report'>): Report {
  const { store, run: which, against } = completeRequest('report', request);
  if (against === undefined) {
    const view = readReport(store, which);
    return { view, document: runDocument(view) };
  }
  const view = compareReports(store, which, against);
  return { view, document: runComparisonDocument(view) };
}

export const run: Run<RequestOf<'report'>> = async (request, context) => {
  const { streams, json, verbose } = context;
  const { output } = request;
  const format = formatOf(request, json);
  const report = reportOf(request);
  if (format === 'terminal' && output === undefined) printDocument(context, report.document);
  else {
    const text =
      format === 'terminal' ? printTerminal(report.document, { isVerbose: verbose }) : REPORT_FORMATS[format](report);
    if (output === undefined) streams.out.write(text);
    else streams.err.write(`Report: ${saveReport(output, text)}\n`);
  }
  return EXIT.ok;
};
