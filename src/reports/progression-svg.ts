import { CHART_STYLE, THEME_STYLE } from './charts/chart-style.ts';
import { progressionChart } from './charts/progression-chart.ts';
import type { RunView } from './run-view.ts';

const SIZE = { width: 800, height: 380, id: 'progression' };
const BACKGROUND = '<rect width="100%" height="100%" style="fill:var(--paper)"/>';

/** The progression chart as a file of its own, for the Markdown report. Undefined without times. */
export function progressionSvg(view: RunView): string | undefined {
  const chart = progressionChart(view, SIZE)?.markup;
  if (chart === undefined) return undefined;
  const [head = '', ...rest] = chart.split('\n');
  return `${[head, `<style>${THEME_STYLE}\n${CHART_STYLE}</style>`, BACKGROUND, ...rest].join('\n')}\n`;
}
