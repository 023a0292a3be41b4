import { ablationChart } from '../charts/ablation-chart.ts';
import { progressionChart } from '../charts/progression-chart.ts';
import { rooflineChart } from '../charts/roofline-chart.ts';
import { formatParameters } from '../format.ts';
import { type Markup, markup } from '../markup.ts';
import {
  ABLATION_COLUMNS,
  ADVICE_NOTE,
  ablationCells,
  ablationNote,
  adviceCells,
  adviceColumns,
  OPTION_COLUMNS,
  OPTIONS_NOTE,
  optionCells,
  optionsTitle,
  rooflineLines,
  shortenOptions,
  vetoLines,
  WORKLOAD_COLUMNS,
  workloadCells,
} from '../parts-text.ts';
import { describeConfirmation, kindNote, kindOf, progressionColumns, whyCell } from '../run-text.ts';
import type { RunView } from '../run-view.ts';
import type { OptionsTable } from '../view/options-tables.ts';
import type { ProgressionRow } from '../view/progression.ts';
import {
  details,
  evaluationLink,
  type LegendItem,
  legend,
  list,
  note,
  type Row,
  responsive,
  type Section,
  table,
  textRows,
} from './parts.ts';

/** Sections about what the search did and found. */

const WIDE = { width: 860, height: 400 };
const NARROW = { width: 345, height: 320 };

const PROGRESSION_LEGEND: readonly LegendItem[] = [
  ['start', 'start'],
  ['kept', 'kept'],
  ['best', 'best'],
  ['reverted', 'reverted'],
  ['tried', 'screened'],
  ['confirmed', 'confirmation'],
  ['failed', 'no valid time'],
  ['best-so-far', 'best so far'],
  ['attainable', 'attainable'],
];

export function progressionSection(view: RunView): Section {
  const wide = progressionChart(view, { ...WIDE, id: 'progression-wide' });
  const narrow = progressionChart(view, { ...NARROW, id: 'progression-narrow' });
  return {
    id: 'progression',
    title: 'Progression',
    body: [
      note(kindNote(view).replaceAll('**', '')),
      wide && narrow ? responsive(wide, narrow) : note('No evaluation has a valid time.'),
      wide && legend(PROGRESSION_LEGEND, wide),
      view.confirmations.length > 0 &&
        markup`<h3>Confirmation</h3>${list(view.confirmations.map(describeConfirmation))}`,
    ],
  };
}

export function ablationSection(view: RunView): Section {
  const { ablation } = view;
  const kind = kindOf(view) ?? '';
  const wide = ablationChart(ablation, kind, { width: WIDE.width, id: 'ablation-wide' });
  const narrow = ablationChart(ablation, kind, { width: NARROW.width, id: 'ablation-narrow' });
  const rows = ablation.map((row): Row => {
    const [change, , ...rest] = ablationCells(row);
    return { cells: [change!, evaluationLink(row.evaluationId), ...rest] };
  });
  return {
    id: 'ablation',
    title: 'What each change is worth',
    body:
      ablation.length === 0
        ? [note('No change of the best was undone: there was none, or no budget was left for it.')]
        : [
            note(ablationNote(view)),
            wide && narrow && responsive(wide, narrow),
            table('What each change is worth', ABLATION_COLUMNS, rows),
          ],
  };
}

export function workloadsSection({ objective }: RunView): Section {
  const several = objective.workloads.length > 1;
  return {
    id: 'workloads',
    title: several ? 'Workloads' : 'Workload',
    body: [
      several &&
        note(
          'The objective is the geometric mean of speed-ups, weighted. A candidate that is more than 2 % slower on any workload is reverted.',
        ),
      table('Workloads', WORKLOAD_COLUMNS, textRows(objective.workloads.map(workloadCells))),
      objective.vetoes.length > 0 && markup`<h3>Vetoes</h3>${list(vetoLines(objective))}`,
    ],
  };
}

const ROOFLINE_LEGEND: readonly LegendItem[] = [
  ['start', 'start'],
  ['tried', 'tried'],
  ['uncounted', 'tried, bytes not counted: at the least the problem reads'],
  ['kept', 'kept'],
  ['best', 'best'],
  ['veto', 'provable bound'],
  ['attainable', 'attainable bound'],
];

export function rooflineSection({ roofline }: RunView): Section {
  const title = 'Roofline';
  if (!roofline)
    return {
      id: 'roofline',
      title,
      body: [note('The log does not tell the work and the device’s rates, or the start has no time.')],
    };
  const wide = rooflineChart(roofline, { ...WIDE, id: 'roofline-wide' });
  const sources = [...new Set(roofline.points.map(({ bytesSource }) => bytesSource))];
  const aboveRoof = sources.includes('sectors requested, some of which L1 may serve')
    ? ' A point above the sloped roof was served by L1.'
    : '';
  return {
    id: 'roofline',
    title,
    body: [
      note(
        `Height is the problem’s FLOP ÷ ${roofline.kind} time: redundant work does not count as speed. Position is the problem’s FLOP ÷ bytes (${sources.join('; ')}).${aboveRoof}`,
      ),
      responsive(wide, rooflineChart(roofline, { ...NARROW, id: 'roofline-narrow' })),
      legend(ROOFLINE_LEGEND, wide),
      list(rooflineLines(roofline)),
    ],
  };
}

const optionRows = ({ options }: OptionsTable): Row[] =>
  options.map((option) => ({ cells: optionCells(option), strong: option.state === 'next' }));

const optionsTable = (options: OptionsTable): Markup =>
  table(`Options at ${optionsTitle(options)}`, OPTION_COLUMNS, optionRows(options));

export function optionsSection({ options, objective }: RunView): Section {
  const last = options.at(-1);
  const earlier = options.slice(0, -1).map(shortenOptions).reverse();
  return {
    id: 'options',
    title: 'Options',
    body: last
      ? [
          note(OPTIONS_NOTE),
          markup`<h3>Last turn, ${optionsTitle(last)}</h3>`,
          optionsTable(last),
          earlier.length > 0 && markup`<h3>Earlier turns, the latest first</h3>`,
          markup`<div>${earlier.map((table) => details(optionsTitle(table), optionsTable(table)))}</div>`,
        ]
      : [note(`No options were ranked: the strategy was ${objective.strategy}.`)],
  };
}

export function adviceSection({ workloadAdvice, advice }: RunView): Section {
  const beyond = advice.map(
    ({ finding, evaluationId, text }) => markup`${finding} (${evaluationLink(evaluationId)}): ${text}`,
  );
  return {
    id: 'advice',
    title: 'Advice',
    body: [
      workloadAdvice.length > 0 && markup`<h3>How the best fills the device</h3>`,
      workloadAdvice.length > 0 && note(ADVICE_NOTE),
      ...workloadAdvice.map((one) => markup`<p>${one.text}</p>${table(one.text, adviceColumns(one), adviceRows(one))}`),
      beyond.length > 0 && markup`<h3>Beyond the moves at hand</h3>${list(beyond)}`,
      workloadAdvice.length + beyond.length === 0 && note('None.'),
    ],
  };
}

const adviceRows = ({ rows }: RunView['workloadAdvice'][number]): Row[] =>
  rows.map((row) => {
    const [product, workload, , ...rest] = adviceCells(row);
    return { cells: [product!, workload!, evaluationLink(row.evaluationId), ...rest] };
  });

const REASON_COLUMNS = [{ title: 'Candidate' }, { title: 'Reason' }];

export function evaluationsSection(view: RunView): Section {
  const columns = progressionColumns(view);
  const linked = (row: ProgressionRow, title: string, text: string) =>
    title === 'Why' && row.why && row.stage === 'judge' && whyCell(row).startsWith(row.why.finding)
      ? markup`${row.why.finding} of ${evaluationLink(row.why.evaluationId)}: ${row.why.evidence}`
      : text;
  const rows = view.progression.map(
    (row): Row => ({
      id: `evaluation-${row.evaluationId}`,
      strong: row.evaluationId === view.best?.evaluationId,
      cells: [
        ...columns.map(({ title, cell }) => linked(row, title, cell(row))),
        `${row.candidate.kernel} (${formatParameters(row.candidate.parameters) || 'no parameters'})`,
        row.reason,
      ],
    }),
  );
  return {
    id: 'evaluations',
    title: 'All evaluations',
    body: [
      note(
        'Every figure of this report names its evaluation; all of it, counters and samples included, lies in the run’s events.jsonl.',
      ),
      table('All evaluations', [...columns, ...REASON_COLUMNS], rows),
    ],
  };
}
