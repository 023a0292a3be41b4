import { formatOfFile, REPORT_FORMATS, type ReportFormat, readReport, saveReport } from '../../app/report.ts';
import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { runDocument } from '../../reports/documents/run.ts';
import { printTerminal } from '../../reports/print/terminal.ts';
import type { Run } from '../context.ts';
import { printDocument } from '../output.ts';

/** What was asked for, else what the file's name says, else for people. */
function formatOf({ format, output }: RequestOf<'report'>, json: boolean): ReportFormat | 'terminal' {
  if (json) return 'json';
  return format ?? (output === undefined ? 'terminal' : formatOfFile(output));
}

export const run: Run<RequestOf<'report'>> = async (request, context) => {
  const { streams, json, verbose } = context;
  const { store, run: which, output } = completeRequest('report', request);
  const format = formatOf(request, json);
  const view = readReport(store, which);
  if (format === 'terminal' && output === undefined) printDocument(context, runDocument(view));
  else {
    const text =
      format === 'terminal' ? printTerminal(runDocument(view), { isVerbose: verbose }) : REPORT_FORMATS[format](view);
    if (output === undefined) streams.out.write(text);
    else streams.err.write(`Report: ${saveReport(output, text)}\n`);
  }
  return EXIT.ok;
};
