import { basename, dirname, extname, join, resolve } from 'node:path';
import { WarpsmithError } from '../core/errors.ts';
import { DEFAULT_STORE } from '../core/requests/options.ts';
import { chartFile } from '../reports/charts/chart.ts';
import { progressionChart } from '../reports/charts/progression-chart.ts';
import { runDocument } from '../reports/documents/run.ts';
import { jsonText } from '../reports/plain-text.ts';
import { printHtml } from '../reports/print/html.ts';
import { printMarkdown } from '../reports/print/markdown.ts';
import { buildRunView, type RunView } from '../reports/run-view.ts';
import type { ReadSource } from '../reports/view/source-diffs.ts';
import { openContentStore } from '../store/content-store.ts';
import { refuseContradictions } from '../store/contradictions.ts';
import { readEventLog, readingLog } from '../store/event-log.ts';
import type { RecordedEvent } from '../store/events.ts';
import { eventsPath, findRun, RUN_FILES, type RunFolder, runFolderPath } from '../store/run-folder.ts';
import { withStorageErrors } from '../store/storage-error.ts';
import { writeWhole } from '../store/write-whole.ts';

/** Reads a run's stored sources. If one was deleted or changed, the report says so. */
function sourcesOf(runFolder: string): ReadSource {
  const objects = openContentStore(join(runFolder, RUN_FILES.objects));
  return (hash) => {
    try {
      return new TextDecoder().decode(objects.get(hash));
    } catch (error) {
      if (error instanceof WarpsmithError) return undefined;
      throw error;
    }
  };
}

/** The value of `--store` for this run; undefined for the default store, or if the run lies in no store. */
function storeOf(runFolder: string): string | undefined {
  const store = dirname(dirname(resolve(runFolder)));
  const isInStore = resolve(runFolderPath(store, basename(runFolder))) === resolve(runFolder);
  return isInStore && store !== resolve(DEFAULT_STORE) ? store : undefined;
}

function viewOf(runFolder: string, { isOwn }: { readonly isOwn: boolean }): RunView {
  const path = eventsPath(runFolder);
  const { events, tornLastLine } = readEventLog(path);
  requireStart(path, events);
  const store = storeOf(runFolder);
  const options = { tornLastLine, readSource: sourcesOf(runFolder), store };
  if (!isOwn) refuseContradictions(events, path);
  return readingLog(() => buildRunView(basename(runFolder), events, options));
}

function requireStart(path: string, events: readonly RecordedEvent[]): void {
  if (events.some(({ type }) => type === 'run-started')) return;
  throw new WarpsmithError({
    code: 'no-run-started',
    message: `${path} ends before the run has begun.`,
    file: path,
    received: `${events.length} events`,
    expected: 'a log that begins with run-started',
    hint: 'Start another run.',
  });
}

/**
 * Rebuilds a run's report from its event log and stored sources.
 *
 * @param which `latest`, a run's id or its first digits, or a run folder.
 * @throws WarpsmithError if there is no such run, or its log is damaged or contradicts itself.
 */
export const readReport = (store: string, which: string): RunView => viewOf(findRun(store, which), { isOwn: false });

/** Formats that look the same everywhere. The terminal's depends on its colours and width. */
export const REPORT_FORMATS = {
  html: (view: RunView) => printHtml(runDocument(view)),
  markdown: (view: RunView) => printMarkdown(runDocument(view)),
  json: (view: RunView) => `${jsonText(view)}\n`,
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
 * @throws WarpsmithError if the file can't be written.
 */
export function saveReport(file: string, text: string): string {
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
      hint: 'Give another file to --output, or none: the report is then printed.',
    });
  }
  return path;
}

const PLOT_SIZE = { width: 800, height: 380, id: 'progression' };

/** Writes the report into the run's folder in every format, with its plot, from the log so far. */
export function writeReport(run: RunFolder): { view: RunView; htmlPath: string } {
  // This process has just written the log, so it need not be checked again.
  const view = viewOf(run.path, { isOwn: true });
  const chart = progressionChart(view);
  if (chart) run.write(RUN_FILES.reportPlot, chartFile(chart(PLOT_SIZE)));
  run.write(RUN_FILES.reportJson, REPORT_FORMATS.json(view));
  const htmlPath = run.write(RUN_FILES.reportHtml, REPORT_FORMATS.html(view));
  const images = { progression: RUN_FILES.reportPlot };
  run.write(RUN_FILES.reportMarkdown, printMarkdown(runDocument(view), chart ? { images } : {}));
  return { view, htmlPath };
}
