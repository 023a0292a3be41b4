import { type Document, documentOf, figures, list, names, table } from '../document.ts';
import { formatFigure, formatMeasuredNs } from '../format.ts';
import type { SearchBenchView } from '../search-bench-view.ts';

type BenchedStrategy = SearchBenchView['strategies'][number];

function describeSpace({ space }: SearchBenchView): string[] {
  const { random, within, good } = space;
  return [
    `parameters: ${space.dimensions.map(({ name, values }) => `${name} (${values})`).join(', ')}`,
    `best: ${formatMeasuredNs(space.bestNs)}; within ${within} %: ${formatFigure(good)} ${good === 1 ? 'configuration' : 'configurations'}`,
    `random search, computed exactly: ${formatFigure(random.meanEvaluations)} evaluations to within ${within} % on average, ` +
      `median ${formatFigure(random.medianEvaluations)}, p90 ${formatFigure(random.p90Evaluations)}`,
  ];
}

/** Space, random search and a line for each strategy. */
export function searchBenchDocument(view: SearchBenchView): Document {
  const { file, space, strategies, evaluations } = view;
  const repeated = space.repeated > 0 ? `, ${formatFigure(space.repeated)} repeated entries replaced` : '';
  /** `99.5`, or `> 200` where the limit came first. */
  const until = (found: number | null): string => (found === null ? `> ${evaluations}` : formatFigure(found));
  return documentOf(
    `${file}: ${formatFigure(space.configurations)} configurations, ${formatFigure(space.valid)} of them valid${repeated}`,
    [
      list(describeSpace(view)),
      table('Strategies', strategies, [
        names('strategy', ({ strategy }) => strategy),
        figures('seeds', ({ seeds }) => seeds, 2),
        figures(`to ${space.within} %: median`, ({ evaluations: { median } }) => until(median)),
        figures('p90', ({ evaluations: { p90 } }) => until(p90)),
        figures('reached', ({ reached }) => `${Math.round(reached * 100)} %`),
        ...(strategies[0]?.checkpoints ?? []).map(({ evaluations: at }, place) =>
          figures<BenchedStrategy>(`× best at ${at}`, ({ checkpoints }) => checkpoints[place]?.median?.toFixed(3), 1),
        ),
      ]),
    ],
  );
}
