import { basename, dirname, extname, join, resolve } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import { DEFAULT_STORE } from '../core/requests/options.ts';
import { chartFile } from '../reports/charts/chart.ts';
import { progressionChart } from '../reports/charts/progression-chart.ts';
import type { Document } from '../reports/document.ts';
import { runDocument } from '../reports/documents/run.ts';
import { compareRuns, type ReadRun, type RunComparisonView } from '../reports/documents/run-comparison.ts';
import { jsonText } from '../reports/plain-text.ts';
import { printHtml } from '../reports/print/html.ts';
import { printMarkdown } from '../reports/print/markdown.ts';
import { buildRunView, type RunView } from '../reports/run-view.ts';
import { openContentStore, textsOf } from '../store/content-store.ts';
import { refuseContradictions } from '../store/contradictions.ts';
import { readEventLog, readingLog, startOfRun } from '../store/event-log.ts';
import { eventsPath, findRun, RUN_FILES, type RunFolder, runFolderPath } from '../store/run-folder.ts';
import { withStorageErrors } from '../store/storage-error.ts';
import { writeWhole } from '../store/write-whole.ts';

/** The value of `--store` for this run; undefined for the default store, or if the run lies in no store. */
function storeOf(runFolder: string): string | undefined {
  const store = dirname(dirname(resolve(runFolder)));
  const isInStore = resolve(runFolderPath(store, basename(runFolder))) === resolve(runFolder);
  return isInStore && store !== resolve(DEFAULT_STORE) ? store : undefined;
}

function readRun(runFolder: string, { isOwn }: { readonly isOwn: boolean }): ReadRun {
  const path = eventsPath(runFolder);
  const { events, tornLastLine } = readEventLog(path);
  startOfRun(path, events);
  const store = storeOf(runFolder);
  const readSource = textsOf(openContentStore(join(runFolder, RUN_FILES.objects)));
  if (!isOwn) refuseContradictions(events, path);
  const view = readingLog(() => buildRunView(basename(runFolder), events, { tornLastLine, readSource, store }));
  return { view, events, readSource };
}

/**
 * Rebuilds a run's report from its event log and stored sources.
 *
 * @param which `latest`, a run's id or its first digits, or a run folder.
 * @throws WarpsmithError if there is no such run, or its log is damaged or contradicts itself.
 */
export const readReport = (store: string, which: string): RunView =>
  readRun(findRun(store, which), { isOwn: false }).view;

/**
 * Compares the bests of two runs, and what each took, from their logs alone.
 *
 * @param which and `against`: as {@link readReport}.
 * @throws WarpsmithError as {@link readReport}.
 */
export function compareReports(store: string, which: string, against: string): RunComparisonView {
  const [run, other] = [which, against].map((one) => readRun(findRun(store, one), { isOwn: false }));
  return readingLog(() => compareRuns(run!, other!));
}

/** A view and the document that shows it. */
export interface Report {
  readonly view: RunView | RunComparisonView;
  readonly document: Document;
}

/** Formats that look the same everywhere. The terminal's depends on its colours and width. */
export const REPORT_FORMATS = {
  html: ({ document }: Report) => printHtml(document),
  markdown: ({ document }: Report) => printMarkdown(document),
  json: ({ view }: Report) => `${jsonText(view)}\n`,
} as const;
export type ReportFormat = keyof typeof REPORT_FORMATS;

const EXTENSIONS: Readonly<Record<string, ReportFormat | 'terminal'>> = {
  '.html': 'html',
  '.htm': 'html',
  '.md': 'markdown',
  '.json': 'json',
  '.txt': 'terminal',
};

/**
 * The format that a file name's extension means.
 *
 * @throws WarpsmithError `unknown-report-format`.
 */
export function formatOfFile(file: string): ReportFormat | 'terminal' {
  const extension = extname(file).toLowerCase();
  const format = Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
  if (format !== undefined) return format;
  throw new WarpsmithError({
    code: 'unknown-report-format',
    message: `The ending of ${basename(file)} names no known format.`,
    file: resolve(file),
    path: '--output',
    received: extension === '' ? 'a name without an ending' : extension,
    expected: `one of ${Object.keys(EXTENSIONS).join(', ')}; or --format with one of ${[...new Set(Object.values(EXTENSIONS))].join(', ')}`,
    hint: 'Give --format as well, or another ending.',
  });
}

/**
 * Writes a report to a file of the user's choice, atomically, and returns its absolute path.
 *
 * @param option which named the file.
 * @throws WarpsmithError if the file can't be written.
 */
export function saveReport(file: string, text: string, option = '--output'): string {
  const path = resolve(file);
  try {
    withStorageErrors(path, () => writeWhole(path, text));
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    const { code, received, message } = error.details;
    throw new WarpsmithError({
      code: code.replace('store', 'output'),
      message: message.replace('Results', 'The report'),
      file: path,
      received,
      expected: 'a file that can be written',
      hint: `Give another file to ${option}, or none: the report is then printed.`,
    });
  }
  return path;
}

const PLOT_SIZE = { width: 800, height: 380, id: 'progression' };

/** Writes the report into the run's folder in every format, with its plot, from the log so far. */
export function writeReport(run: RunFolder): { view: RunView; htmlPath: string } {
  // This process has just written the log, so it need not be checked again.
  const { view } = readRun(run.path, { isOwn: true });
  const document = runDocument(view);
  const chart = progressionChart(view);
  if (chart) run.write(RUN_FILES.reportPlot, chartFile(chart(PLOT_SIZE)));
  run.write(RUN_FILES.reportJson, REPORT_FORMATS.json({ view, document }));
  const htmlPath = run.write(RUN_FILES.reportHtml, REPORT_FORMATS.html({ view, document }));
  const images = { progression: RUN_FILES.reportPlot };
  run.write(RUN_FILES.reportMarkdown, printMarkdown(document, chart ? { images } : {}));
  return { view, htmlPath };
}
