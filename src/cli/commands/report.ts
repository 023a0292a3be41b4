import { formatOfFile, REPORT_FORMATS, type ReportFormat, readReport, saveReport } from '../../app/report.ts';
import { EXIT } from '../../core/errors.ts';
import { plainPaint } from '../../reports/paint.ts';
import { plainText } from '../../reports/plain-text.ts';
import { runTerminal } from '../../reports/run-terminal.ts';
import type { RunView } from '../../reports/run-view.ts';
import type { Run } from '../context.ts';
import { paintFor, type Streams } from '../output.ts';

interface Options {
  run: string;
  store: string;
  format?: ReportFormat | 'terminal';
  output?: string;
  json?: boolean;
}

/** What was asked for, else what the file's name says, else for people. */
function formatOf({ json, format, output }: Options): ReportFormat | 'terminal' {
  if (json) return 'json';
  return format ?? (output === undefined ? 'terminal' : formatOfFile(output));
}

/** A stream shows control characters as their codes; a file must not hold them either. */
const terminalText = (view: RunView, { output }: Options, { out }: Streams): string =>
  output === undefined ? runTerminal(view, paintFor(out)) : plainText(runTerminal(view, plainPaint));

export const run: Run<Options> = async (options, { streams }) => {
  const format = formatOf(options);
  const view = readReport(options.store, options.run);
  const text = format === 'terminal' ? terminalText(view, options, streams) : REPORT_FORMATS[format](view);
  if (options.output === undefined) streams.out.write(text);
  else streams.err.write(`Report: ${saveReport(options.output, text)}\n`);
  return EXIT.ok;
};
