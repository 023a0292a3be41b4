import { searchPlotSvg } from '../../src/reports/charts/search-chart.ts';
import type { Column } from '../../src/reports/document.ts';
import { type SearchBenchView, searchBenchSvg } from '../../src/reports/documents/search-bench.ts';
import { formatFigure } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import type { BenchedStrategy } from '../../src/search/bench.ts';
import { type PriorRow, type PriorsRecording, priorShares, type SearchCost } from './priors-recording.ts';
import {
  isGuidedWorthIt,
  mediansOf,
  type ProblemSearch,
  type PublicSpaces,
  type SearchRecording,
  type SearchRecordings,
  sharesOf,
} from './search-recording.ts';

const absent = (name: string, command: string): string =>
  `*Not recorded yet: docs/results/${name}.json is missing (\`${command}\`).*`;

const right = (title: string): Column => ({ title, align: 'right' });

const count = (evaluations: number | null): string => (evaluations === null ? '–' : formatFigure(evaluations));

const cell = ({ evaluations: { median, p90 }, reached }: BenchedStrategy): string =>
  reached < 1 ? `${count(median)} (${Math.round(reached * 100)} %)` : `${count(median)} / ${count(p90)}`;

const row = ({ problem, workload, space, strategies }: ProblemSearch): string[] => [
  `${problem} ${workload}`,
  String(space.configurations),
  String(space.good),
  ...strategies.map(cell),
];

function verdict({ problems }: SearchRecording): string {
  const shares = sharesOf(problems.map(mediansOf));
  const percent = (share: number): string =>
    Number.isFinite(share) ? `${formatFigure(100 * share)} %` : 'no finite share';
  return (
    `Of random search's median, over all problems (geometric mean), guided search needs ${percent(shares.guided)}, without ` +
    `diagnosis ${percent(shares.undirected)}: ` +
    `${isGuidedWorthIt(shares) ? 'half of random search at most, and owed to the findings' : 'not what guided search is meant to reach'}.`
  );
}

function table(recording: SearchRecording): string {
  const { problems, seeds, within, device, warpsmith, date } = recording;
  const strategies = problems[0]?.strategies.map(({ strategy }) => right(strategy)) ?? [];
  return (
    `${markdownTable([{ title: 'Problem' }, right('settings'), right('good'), ...strategies], problems.map(row))}\n\n` +
    `Evaluations until one is good, within ${within} % of the best: median / p90 of ${seeds} seeds, or the median and the ` +
    `seeds that got there. ${verdict(recording)} Predicted times on ${device}, warpsmith ${warpsmith}, ${date}.`
  );
}

/** The problem with the most settings, where strategies differ most. */
const largest = ({ problems }: SearchRecording): ProblemSearch =>
  problems.reduce((most, problem) => (problem.space.configurations > most.space.configurations ? problem : most));

function figure(recording: SearchRecording): string {
  const { problem, workload, space, strategies, randomCurve } = largest(recording);
  return searchPlotSvg({
    title: `${problem} ${workload} on ${recording.device}: finding the best of ${space.configurations} settings, predicted`,
    within: recording.within,
    panels: strategies.map(({ strategy, evaluations, curve }) => ({
      name: strategy,
      note: `to ${recording.within} %: ${count(evaluations.median)}`,
      curve,
    })),
    reference: { name: 'random search, computed exactly', curve: randomCurve },
  });
}

const spaceRow = ({ file, space, strategies }: SearchBenchView): string[] => [
  file.replace(/\.t4\.json(\.gz)?$/, ''),
  String(space.configurations),
  `${space.within} %: ${space.good}`,
  formatFigure(space.random.meanEvaluations),
  ...strategies.map(cell),
];

function spacesTable({ spaces, date, warpsmith }: PublicSpaces): string {
  const strategies = spaces[0]?.strategies ?? [];
  const columns = ['configurations', 'good', 'random, exactly', ...strategies.map(({ strategy }) => strategy)].map(
    right,
  );
  return (
    `${markdownTable([{ title: 'Space' }, ...columns], spaces.map(spaceRow))}\n\n` +
    `Evaluations until one is good: median / p90 of ${strategies.at(-1)?.seeds ?? 0} seeds and ${spaces[0]?.evaluations ?? 0} ` +
    `evaluations each, or the median and the seeds that got there; of random search the mean, computed exactly. Times measured ` +
    `by others (FAIR Benchmark Hub for Auto-Tuning, DOI 10.5281/zenodo.15364124); warpsmith ${warpsmith}, ${date}.`
  );
}

const KINDS: Readonly<Record<PriorRow['kind'], string>> = {
  public: 'measured by others',
  measured: 'measured on an H200',
  predicted: 'predicted',
};

const cost = ({ median, p90, reached }: SearchCost): string =>
  reached < 1 ? `${count(median)} (${Math.round(reached * 100)} %)` : `${count(median)} / ${count(p90)}`;

const priorRow = ({ kind, space, prior, configurations, good, known, ...costs }: PriorRow): string[] => [
  space,
  prior,
  KINDS[kind],
  `${formatFigure(known)} of ${formatFigure(configurations)}`,
  String(good),
  ...[costs.without, costs.with, costs.shuffled].map(cost),
];

/** Evaluations in some spaces, as a share of those without a prior. */
function priorVerdict(title: string, rows: readonly PriorRow[]): string[] {
  if (rows.length === 0) return [];
  const shares = priorShares(rows);
  const percent = (share: number): string => `${Math.round(100 * share)} %`;
  return [`${title} ${percent(shares.with)} with it and ${percent(shares.shuffled)} with a shuffled one`];
}

function priorsTable({ rows, seeds, within, evaluations, date, warpsmith }: PriorsRecording): string {
  const columns = ['Space', 'Prior', 'Times', 'settings known', 'good', 'without', 'with the prior', 'shuffled'];
  const kinds = ['public', 'measured', 'predicted'] as const;
  const byKind = kinds.map((kind) => [kind, rows.filter((row) => row.kind === kind)] as const);
  const sorted = byKind.flatMap(([, of]) => of);
  const verdicts = [...byKind.flatMap(([kind, of]) => priorVerdict(KINDS[kind], of)), ...priorVerdict('all', rows)];
  return (
    `${markdownTable(
      columns.map((title, place) => (place < 3 ? { title } : right(title))),
      sorted.map(priorRow),
    )}\n\n` +
    `Evaluations of the Bayesian strategy until one is good, within ${within} % of the best: median / p90 of ${seeds} seeds and ` +
    `${evaluations} evaluations each, or the median and the seeds that got there. Of the evaluations without a prior (geometric ` +
    `means of means): ${verdicts.join('; ')}. Times measured by others: one run of each ` +
    `setting, github.com/schoonhovenrichard/GPU_benchmarking_paper. warpsmith ${warpsmith}, ${date}.`
  );
}

const spaceFigures = ({ spaces }: PublicSpaces): [string, string][] =>
  spaces.map((view) => {
    const file = view.file.replace(/\.t4\.json(\.gz)?$/, '');
    return [`docs/figures/search-${file}.svg`, searchBenchSvg({ ...view, file: `${file}, measured` })];
  });

export const searchBlocks = ({ problems, spaces, priors }: SearchRecordings): Record<string, string> => ({
  search: problems ? table(problems) : absent('search', 'node bench/search/compare-strategies.ts'),
  'search-spaces': spaces ? spacesTable(spaces) : absent('search-spaces', 'node bench/search/public-spaces.ts'),
  'search-priors': priors ? priorsTable(priors) : absent('search-priors', 'node bench/search/priors.ts'),
});

export const searchFigures = ({ problems, spaces }: SearchRecordings): Record<string, string> => ({
  ...(problems && { 'docs/figures/search.svg': figure(problems) }),
  ...(spaces && Object.fromEntries(spaceFigures(spaces))),
});
