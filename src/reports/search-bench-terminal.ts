import { formatFigure, formatMeasuredNs } from './format.ts';
import type { Paint } from './paint.ts';
import type { SearchBenchView } from './search-bench-view.ts';
import { type Column, textTable } from './table.ts';

const count = (value: number): string => value.toLocaleString('en-US');

/** `99.5`, or `> 200` where the limit came first. */
const formatEvaluations = (evaluations: number | null, limit: number): string =>
  evaluations === null ? `> ${limit}` : formatFigure(evaluations);

const formatTimesBest = (ratio: number | null): string => (ratio === null ? '–' : ratio.toFixed(3));

/** Space, random search and a line for each strategy. */
export function searchBenchTerminal(view: SearchBenchView, paint: Paint): string {
  const { space, strategies, evaluations } = view;
  const checkpoints = strategies[0]?.checkpoints ?? [];
  const columns: Column[] = [
    { title: 'strategy' },
    { title: 'seeds', align: 'right' },
    { title: `to ${space.within} %: median`, align: 'right' },
    { title: 'p90', align: 'right' },
    { title: 'reached', align: 'right' },
    ...checkpoints.map((checkpoint): Column => ({ title: `× best at ${checkpoint.evaluations}`, align: 'right' })),
  ];
  const rows = strategies.map((strategy) => [
    strategy.strategy,
    String(strategy.seeds),
    formatEvaluations(strategy.evaluations.median, evaluations),
    formatEvaluations(strategy.evaluations.p90, evaluations),
    `${Math.round(strategy.reached * 100)} %`,
    ...strategy.checkpoints.map(({ median }) => formatTimesBest(median)),
  ]);
  return `${[...spaceLines(view, paint), '', textTable(columns, rows, (text) => paint('bold', text))].join('\n')}\n`;
}

function spaceLines({ file, space }: SearchBenchView, paint: Paint): string[] {
  const { random, within } = space;
  const repeated = space.repeated > 0 ? `, ${count(space.repeated)} repeated entries replaced` : '';
  const dimensions = space.dimensions.map(({ name, values }) => `${name} (${values})`).join(', ');
  return [
    `${paint('bold', file)}: ${count(space.configurations)} configurations, ${count(space.valid)} of them valid${repeated}`,
    `parameters: ${dimensions}`,
    `best: ${formatMeasuredNs(space.bestNs)}; within ${within} %: ${count(space.good)} ${space.good === 1 ? 'configuration' : 'configurations'}`,
    `random search, computed exactly: ${formatFigure(random.meanEvaluations)} evaluations to within ${within} % on average, ` +
      `median ${count(random.medianEvaluations)}, p90 ${count(random.p90Evaluations)}`,
  ];
}
