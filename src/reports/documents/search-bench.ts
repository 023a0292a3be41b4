import type { BenchedSpace, BenchedStrategy, Spread } from '../../search/bench.ts';
import { searchPlotSvg } from '../charts/search-chart.ts';
import { type Document, documentOf, figures, list, names, table } from '../document.ts';
import { formatCount, formatFigure, formatMeasuredNs } from '../format.ts';

/** What search-bench reports: a space whose every configuration is known, and how strategies find the best of it. */
export interface SearchBenchView {
  readonly schemaVersion: 1;
  readonly kind: 'search-bench';
  /** Name of the file, without its folder. */
  readonly file: string;
  /** Evaluations each run was allowed; never more than there are configurations. */
  readonly evaluations: number;
  readonly space: BenchedSpace & {
    /** Entries of the file that a later one of the same configuration replaces. */
    readonly repeated: number;
    readonly dimensions: readonly { readonly name: string; readonly values: number }[];
    /** Random search's best so far after each evaluation, computed exactly. */
    readonly randomCurve: readonly Spread[];
  };
  readonly strategies: readonly BenchedStrategy[];
}

function describeSpace({ space }: SearchBenchView): string[] {
  const { random, within, good } = space;
  return [
    `parameters: ${space.dimensions.map(({ name, values }) => `${name} (${values})`).join(', ')}`,
    `best: ${formatMeasuredNs(space.bestNs)}; within ${within} %: ${formatCount(good, 'configuration')}`,
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

/** The plot of a bench, with random search for comparison. */
export const searchBenchSvg = ({ file, space, strategies, evaluations }: SearchBenchView): string =>
  searchPlotSvg({
    title: `${file}: finding the best of ${space.configurations.toLocaleString('en-US')} configurations`,
    within: space.within,
    panels: strategies.map(({ strategy, evaluations: { median }, curve }) => ({
      name: strategy,
      note: `to ${space.within} %: ${median === null ? `> ${evaluations}` : median}`,
      curve,
    })),
    reference: { name: 'random search, computed exactly', curve: space.randomCurve },
  });
