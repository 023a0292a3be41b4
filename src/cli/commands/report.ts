import { formatOfFile, REPORT_FORMATS, type ReportFormat, readReport, saveReport } from '../../app/report.ts';
import { EXIT } from '../../core/errors.ts';
import { plainPaint } from '../../reports/paint.ts';
import { runTerminal } from '../../reports/run-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor } from '../output.ts';

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

export const run: Run<Options> = async (options, { streams }) => {
  const format = formatOf(options);
  const view = readReport(options.store, options.run);
  const paint = options.output === undefined ? paintFor(streams.out) : plainPaint;
  const text = format === 'terminal' ? runTerminal(view, paint) : REPORT_FORMATS[format](view);
  if (options.output === undefined) streams.out.write(text);
  else streams.err.write(`Report: ${saveReport(options.output, text)}\n`);
  return EXIT.ok;
};
