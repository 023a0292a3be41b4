import { chartFile } from '../../src/reports/charts/chart.ts';
import { progressionChart } from '../../src/reports/charts/progression-chart.ts';
import { runDocument } from '../../src/reports/documents/run.ts';
import { printHtml } from '../../src/reports/print/html.ts';
import { printMarkdown } from '../../src/reports/print/markdown.ts';
import type { RunView } from '../../src/reports/run-view.ts';
import { onTerminal } from '../support/printed.ts';

/** The report of a run in each format. */

export const runHtml = (view: RunView): string => printHtml(runDocument(view));

export const runMarkdown = (view: RunView, image?: string): string =>
  printMarkdown(runDocument(view), image === undefined ? {} : { images: { progression: image } });

export const runTerminal = (view: RunView): string => onTerminal(runDocument(view));

export function progressionSvg(view: RunView): string | undefined {
  const chart = progressionChart(view);
  return chart && chartFile(chart({ width: 800, height: 380, id: 'progression' }));
}
