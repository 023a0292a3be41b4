import type { RankedOption } from '../../store/events.ts';
import { parameterChart } from '../charts/parameter-chart.ts';
import * as doc from '../document.ts';
import { formatCount, formatFigure, formatKindAndTime, formatNs, formatPercent, formatTime } from '../format.ts';
import type { FindingsPart, OptionsTable, RunView } from '../run-view.ts';
import { type TriedSettings, triedSettings } from '../view/tried-settings.ts';
import { authoredSection } from './authored.ts';
import { findingsInShort } from './findings.ts';
import {
  cited,
  describeEvaluations,
  evaluationColumns,
  evaluationLink,
  formatAmount,
  kindOf,
  revertedLine,
} from './run-words.ts';

/** Sections about the search: what it found and tried, what it spent, and how to do it again. */

const findingsOf = (title: string, part: FindingsPart | null): doc.Part => [
  doc.heading(part ? cited(title, part.evaluationId) : title),
  part ? findingsInShort(part.findings, 'No rule fired.') : doc.text('Nothing was evaluated, or it was not profiled.'),
];

const findings = ({ findings: { before, after } }: RunView): doc.Section[] =>
  doc.section('findings', 'Findings before and after', [
    doc.note('What limits the kernel, with the counters that say so. Gains are estimates and don’t multiply.'),
    findingsOf('Start', before),
    findingsOf('Best', after),
  ]);

const negative = ({ reverted, failed, abandoned }: RunView): doc.Section[] =>
  doc.section('negative', 'What failed or was reverted, and why', [
    doc.list([...reverted, ...failed].map(revertedLine), 'Nothing.'),
    doc.titledList(
      'Given up',
      abandoned.map(({ moveKey, why, reason }) => `${moveKey} (${why}): ${reason}`),
    ),
  ]);

/** The fastest time at each value, for those who look at one parameter. */
const fastestByValue = ({ varied, settings }: TriedSettings): doc.Part =>
  doc.table('Fastest time by value', varied, [
    doc.names('Parameter', ({ name }) => name),
    doc.words('Value: fastest time', ({ name, values }) =>
      values
        .map((value) => {
          const { time } = settings.findLast(({ parameters }) => parameters[name] === value)!;
          return `${value}: ${formatTime(time.kind, time.medianNs)}`;
        })
        .join(', '),
    ),
  ]);

function settingsOf(tried: TriedSettings, index: number): doc.Part {
  const { kernel, settings, varied } = tried;
  const title = `${kernel}: ${formatCount(settings.length, 'setting')} of ${varied.map(({ name }) => name).join(', ')}`;
  return [doc.heading(title), doc.figure(`parameters-${index}`, title, parameterChart(tried)), fastestByValue(tried)];
}

function parameters(view: RunView): doc.Section[] {
  const tried = triedSettings(view);
  const kind = kindOf(view);
  const care = {
    measured: 'Times of different blocks: they show where to look; decisions rest on ratios of the same blocks.',
    predicted: 'Times within 3 % of each other are ties.',
  };
  const said =
    kind &&
    `Settings with a valid ${kind} time on ${view.workload.name}; the stronger a cell or a line, the faster. ${care[kind]}`;
  const parts = tried.length > 0 && said !== undefined && [doc.note(said), tried.map(settingsOf)];
  return doc.detail('parameters', 'Parameters', [parts]);
}

/** Open moves that an earlier turn's table shows; report.json has all that were logged. */
const EARLIER_OPTIONS = 8;

const isOpen = ({ state }: Pick<RankedOption, 'state'>): boolean => state !== 'abandoned';

/** The best of an earlier turn's open moves and all it gave up: a run of hundreds of turns stays a page. */
function shortened({ options, omitted, ...turn }: OptionsTable): OptionsTable {
  const open = options.filter(isOpen);
  const shown = open.slice(0, EARLIER_OPTIONS);
  const givenUp = options.filter((option) => !isOpen(option));
  return { ...turn, options: [...shown, ...givenUp], omitted: omitted + open.length - shown.length };
}

/** `iteration 4: 12 open moves, a share of 1.8 evaluations each`. */
function turnTitle({ iteration, share, options, omitted }: OptionsTable): string {
  const open = options.filter(isOpen).length + omitted;
  const each = share === null ? '' : `, a share of ${share.toFixed(1)} evaluations each`;
  const hidden = omitted === 0 ? '' : ` (${omitted} of them not listed)`;
  return `iteration ${iteration}: ${formatCount(open, 'open move')}${hidden}${each}`;
}

const turnTable = (turn: OptionsTable): doc.Part =>
  doc.table(
    `Options at ${turnTitle(turn)}`,
    turn.options,
    [
      doc.words('State', ({ state }) => state),
      doc.words('Change', ({ change }) => change),
      doc.figures('Value', ({ value }) => value.toFixed(3)),
      doc.words('Arithmetic', ({ arithmetic }) => arithmetic),
      doc.words('Because of', ({ finding }) => [`${finding.id} of `, evaluationLink(finding.evaluationId)], 1),
      doc.words(
        'Pattern, kept before',
        ({ pattern, evidence }) => `${pattern.id}, ${evidence.kept} of ${evidence.attempts}`,
        2,
      ),
      doc.figures('Used', ({ used }) => used, 3),
      doc.figures('Failures', ({ failures }) => failures, 3),
    ],
    ({ state }) => ({ isStrong: state === 'next' }),
  );

const OPTIONS_NOTE =
  'What could be tried, best value first: (expected gain − 1) × confidence ÷ (evaluations + compiling, in evaluations’ ' +
  'worth). Gains and confidence are expectations, combined with earlier results of the pattern; they are never measurements.';

/** The last turn's table open, earlier ones folded. */
function options({ options: turns, objective }: RunView): doc.Section[] {
  const last = turns.at(-1);
  const earlier = turns.slice(0, -1).map(shortened).reverse();
  if (!last)
    return doc.detail('options', 'Options', [
      doc.note(`No options were ranked: the strategy was ${objective.strategy}.`),
    ]);
  return doc.detail('options', 'Options', [
    doc.note(OPTIONS_NOTE),
    doc.heading(`Last turn, ${turnTitle(last)}`),
    turnTable(last),
    earlier.length > 0 && doc.heading('Earlier turns, the latest first'),
    earlier.map((turn) => doc.fold(turnTitle(turn), [turnTable(turn)])),
  ]);
}

type WorkloadAdvice = RunView['workloadAdvice'][number];

const fillTable = ({ dimensions, rows, text: advised }: WorkloadAdvice): doc.Part =>
  doc.table(advised, rows, [
    doc.figures(dimensions.join('·'), ({ product }) => product),
    doc.words('Workload', ({ workload }) => workload),
    doc.names('Evaluation', ({ evaluationId }) => evaluationLink(evaluationId), 2),
    doc.figures('Time', formatKindAndTime),
    doc.figures('Attainable', ({ attainableNs }) => (attainableNs === null ? null : formatNs(attainableNs)), 1),
    doc.figures('Of attainable', ({ attainedRatio }) => (attainedRatio === null ? '–' : formatPercent(attainedRatio))),
  ]);

const advice = ({ workloadAdvice, advice: beyond }: RunView): doc.Section[] =>
  doc.section('advice', 'Advice', [
    workloadAdvice.length > 0 && [
      doc.heading('How the best fills the device'),
      doc.note(
        'How the best kernel fills the device as the work grows. The rows do different amounts of work, so none of this is a speed-up.',
      ),
    ],
    workloadAdvice.map((one) => [doc.text(one.text), fillTable(one)]),
    doc.titledList(
      'Advice beyond the moves at hand',
      beyond.map(({ finding, evaluationId, text: advised }) => [cited(finding, evaluationId), `: ${advised}`]),
    ),
    workloadAdvice.length + beyond.length === 0 && doc.note('None.'),
  ]);

const evaluations = (view: RunView): doc.Section[] =>
  doc.detail('evaluations', 'All evaluations', [
    doc.note(
      'Every figure of this report names its evaluation; all of it, counters and samples included, lies in the run’s events.jsonl.',
    ),
    doc.table('All evaluations', view.progression, evaluationColumns(view), ({ evaluationId }) => ({
      id: `evaluation-${evaluationId}`,
      isStrong: evaluationId === view.best?.evaluationId,
    })),
  ]);

function ledger(view: RunView): doc.Section[] {
  const { lines, gpuPricePerHour, gpuPriceSource, phases } = view.ledger;
  const { used: count, beyond } = describeEvaluations(view);
  return doc.section('ledger', 'Ledger', [
    doc.table('Budgets and expenses', lines, [
      doc.words('Budget', ({ name }) =>
        name === 'money' ? `money, at ${formatFigure(gpuPricePerHour ?? 0)} per GPU hour` : name,
      ),
      doc.figures('Used', ({ name, used, unit }) =>
        name === 'evaluations'
          ? `${count}${beyond && `, ${beyond}`}`
          : `${formatAmount(name, used)}${unit && ` ${unit}`}`,
      ),
      doc.figures('Limit', ({ limit, unit }) =>
        limit === null ? 'none' : `${formatFigure(limit)}${unit && ` ${unit}`}`,
      ),
      doc.figures('Share', ({ used, limit }) => (limit === null ? '–' : `${Math.round((100 * used) / limit)} %`)),
    ]),
    gpuPriceSource !== undefined && doc.note(`Price of the GPU: ${gpuPriceSource}.`),
    doc.note(
      `Wall time of the evaluations: compiling ${formatNs(phases.compileMs * 1e6)}, verifying ${formatNs(phases.verifyMs * 1e6)}, timing ${formatNs(phases.timeMs * 1e6)}.`,
    ),
  ]);
}

const environment = ({ environment: programs, device, seed }: RunView): doc.Section[] =>
  doc.detail('environment', 'Environment', [
    doc.list([
      { term: 'device', text: `${device.name} (${device.id})` },
      { term: 'seed', text: String(seed) },
      ...Object.entries(programs).map(([term, which]) => ({ term, text: which })),
    ]),
  ]);

const REPEATING = {
  predicted: 'Predictions repeat bit by bit.',
  measured: 'Measured times vary within their intervals, and may lead the search elsewhere.',
};

function reproduction(view: RunView): doc.Section[] {
  const kind = kindOf(view);
  return doc.section('reproduce', 'How to do it again', [
    doc.codeBlock('sh', view.reproduction),
    kind && doc.note(REPEATING[kind]),
  ]);
}

/** In this order. */
export const SEARCH_SECTIONS: readonly ((view: RunView) => doc.Section[])[] = [
  findings,
  authoredSection,
  negative,
  parameters,
  options,
  advice,
  evaluations,
  ledger,
  environment,
  reproduction,
];
