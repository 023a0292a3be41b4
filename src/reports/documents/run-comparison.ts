import { bestSoFarChart } from '../charts/best-so-far-chart.ts';
import {
  type Document,
  documentOf,
  figures,
  type Inline,
  list,
  names,
  note,
  type Part,
  section,
  table,
  text,
  warn,
  words,
} from '../document.ts';
import { formatCandidate, formatCount, formatKindAndTime, formatRatio, formatTiming } from '../format.ts';
import type { ComparedRun, RunComparisonView } from '../run-comparison-view.ts';
import { changeLines, diffParts } from '../sections/changes.ts';

/** Ids are long: in sentences and tables the runs have letters. */
const [A, B] = ['A', 'B'];

const reachedLine = ({ reached }: RunComparisonView): string | null =>
  reached &&
  `To be as fast as the slower best, ${formatKindAndTime(reached)} on ${reached.workload}, ` +
    `${A} needed ${formatCount(reached.run, 'evaluation')}, ${B} ${reached.against}.`;

function conclusion({ times, notCompared }: RunComparisonView): Inline {
  if (notCompared !== null) return warn(`The bests are not compared: ${notCompared}.`);
  const [first] = times;
  if (times.length > 1 || !first?.ratio) return 'The table has the ratio on each workload.';
  const { ratio, run: time } = first;
  if (ratio === 1) return `Both bests take ${formatKindAndTime(time)}.`;
  const [faster, slower] = ratio > 1 ? [A, B] : [B, A];
  return `The best of ${faster} is ${time!.kind} ${formatRatio(Math.max(ratio, 1 / ratio))} faster than that of ${slower}.`;
}

const bestOf = ({ best }: ComparedRun): string =>
  best ? `${formatCandidate(best.candidate)}, ${formatTiming(best)}` : 'no valid time';

const runsTable = ({ run, against }: RunComparisonView): Part =>
  table(
    'Runs',
    [run, against],
    [
      names('run', (_, index) => [A, B][index]),
      words('best', bestOf),
      figures('× its start', ({ speedup }) => formatRatio(speedup)),
      figures('evaluations', ({ evaluations }) => evaluations, 2),
      figures('to its best', ({ evaluationsToBest }) => evaluationsToBest, 1),
    ],
  );

/** Two runs of a problem, best against best. */
export function runComparisonDocument(view: RunComparisonView): Document {
  const { problem, run, against, times, compareCommand, differences, changes, sources } = view;
  const chart = bestSoFarChart(view);
  const reached = reachedLine(view);
  const nothing = 'nothing: both are the same kernel with the same parameters';
  return documentOf(
    `${problem}: two runs, best against best`,
    [
      list(
        [run, against].map(({ runId, device }, index) => ({
          term: [A, B][index],
          text: `${runId}, on ${device.name}`,
        })),
      ),
      text(conclusion(view)),
      reached !== null && text(reached),
      compareCommand !== null && [
        note('This measures both in the same blocks, and gives a verdict:'),
        { kind: 'code', language: 'sh', text: compareCommand },
      ],
      runsTable(view),
    ],
    [
      section('times', 'Times of the bests', [
        chart && {
          kind: 'figure',
          id: 'progress',
          alt: 'Best time so far of both runs by evaluation',
          chart,
          legend: [],
        },
        table('Times of the bests', times, [
          words('workload', ({ workload, cache }) => `${workload} (${cache})`),
          figures(A, ({ run: time }) => formatKindAndTime(time)),
          figures(B, ({ against: time }) => formatKindAndTime(time)),
          figures('ratio', ({ ratio }) => formatRatio(ratio)),
        ]),
      ]),
      section('changes', `From the best of ${B} to that of ${A}`, [
        changes && list(changeLines(changes, nothing)),
        sources && diffParts([['sources', sources]]),
      ]),
      section('differences', 'What else was different', [
        table('What else was different', differences, [
          names('what', ({ what }) => what),
          words(A, (row) => row.run),
          words(B, (row) => row.against),
        ]),
        differences.length === 0 && note('Nothing: both runs were asked the same, with the same programs.'),
      ]),
    ],
  );
}
