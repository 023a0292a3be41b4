import { readReport } from '../../app/report.ts';
import { EXIT } from '../../core/errors.ts';
import { runMarkdown } from '../../reports/run-markdown.ts';
import { runTerminal } from '../../reports/run-terminal.ts';
import type { RunView } from '../../reports/run-view.ts';
import type { Run } from '../context.ts';
import { paintFor, type Streams } from '../output.ts';

type Format = 'terminal' | 'markdown' | 'json';

const FORMATS: Readonly<Record<Format, (view: RunView, streams: Streams) => string>> = {
  terminal: (view, { out }) => runTerminal(view, paintFor(out)),
  markdown: (view) => runMarkdown(view),
  json: (view) => `${JSON.stringify(view, null, 2)}\n`,
};

export const run: Run<{ run: string; store: string; format?: Format; json?: boolean }> = async (
  { run: which, store, format, json },
  { streams },
) => {
  const view = readReport(store, which);
  streams.out.write(FORMATS[json ? 'json' : (format ?? 'terminal')](view, streams));
  return EXIT.ok;
};
