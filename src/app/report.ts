import { basename } from 'node:path';
import { progressionSvg } from '../reports/progression-svg.ts';
import { runMarkdown } from '../reports/run-markdown.ts';
import { buildRunView, type RunView } from '../reports/run-view.ts';
import { readEventLog } from '../store/event-log.ts';
import { eventsPath, findRun, RUN_FILES, type RunFolder } from '../store/run-folder.ts';

/**
 * Rebuilds the report of a run from its event log.
 *
 * @param which `latest`, a run's id or the beginning of it, or a run folder.
 * @throws WarpsmithError when there is no such run or its log is damaged.
 */
export function readReport(store: string, which: string): RunView {
  const folder = findRun(store, which);
  const { events, tornLastLine } = readEventLog(eventsPath(folder));
  return buildRunView(basename(folder), events, tornLastLine);
}

/** Writes report.md, report.json and report.svg into the run's folder, from what its log says so far. */
export function writeReport(run: RunFolder): { view: RunView; markdownPath: string } {
  const { events, tornLastLine } = readEventLog(run.log.path);
  const view = buildRunView(run.id, events, tornLastLine);
  const plot = progressionSvg(view);
  if (plot !== undefined) run.write(RUN_FILES.reportPlot, plot);
  run.write(RUN_FILES.reportJson, `${JSON.stringify(view, null, 2)}\n`);
  const markdownPath = run.write(
    RUN_FILES.reportMarkdown,
    runMarkdown(view, plot === undefined ? undefined : RUN_FILES.reportPlot),
  );
  return { view, markdownPath };
}
