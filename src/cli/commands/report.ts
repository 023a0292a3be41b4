import { formatOfFile, REPORT_FORMATS, type ReportFormat, readReport, saveReport } from '../../app/report.ts';
import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { plainPaint } from '../../reports/paint.ts';
import { plainText } from '../../reports/plain-text.ts';
import { runTerminal } from '../../reports/run-terminal.ts';
import type { RunView } from '../../reports/run-view.ts';
import type { Run } from '../context.ts';
import { paintFor, type Streams } from '../output.ts';

/** What was asked for, else what the file's name says, else for people. */
function formatOf({ format, output }: RequestOf<'report'>, json: boolean): ReportFormat | 'terminal' {
  if (json) return 'json';
  return format ?? (output === undefined ? 'terminal' : formatOfFile(output));
}

/** A stream shows control characters as their codes; a file must not hold them either. */
const terminalText = (view: RunView, { output }: RequestOf<'report'>, { out }: Streams): string =>
  output === undefined ? runTerminal(view, paintFor(out)) : plainText(runTerminal(view, plainPaint));

export const run: Run<RequestOf<'report'>> = async (request, { streams, json }) => {
  const { store, run: which, output } = completeRequest('report', request);
  const format = formatOf(request, json);
  const view = readReport(store, which);
  const text = format === 'terminal' ? terminalText(view, request, streams) : REPORT_FORMATS[format](view);
  if (output === undefined) streams.out.write(text);
  else streams.err.write(`Report: ${saveReport(output, text)}\n`);
  return EXIT.ok;
};
