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
  strong,
  table,
  text,
  warn,
  words,
} from '../document.ts';
import { formatParameters, formatRatio, formatTime, formatTiming } from '../format.ts';
import type { ComparedRun, ComparedTimes, RunComparisonView } from '../run-comparison-view.ts';
import { changeLines, diffParts } from '../sections/changes.ts';

const timeOf = (time: ComparedTimes['run']): string =>
  time ? `${time.kind} ${formatTime(time.kind, time.medianNs)}` : '–';

/** `run 20… needed 5 evaluations, run 20… 12, to be as fast as predicted 870 µs on b1h8s512d64`. */
const reachedLine = ({ run, against, reached }: RunComparisonView): string | null =>
  reached &&
  `To be as fast as the slower best (${reached.kind} ${formatTime(reached.kind, reached.medianNs)} on ${reached.workload}), ` +
    `${run.runId} needed ${reached.run} evaluations and ${against.runId} ${reached.against}.`;

function conclusion({ run, against, times, notCompared }: RunComparisonView): Inline {
  if (notCompared !== null) return warn(`The bests are not compared: ${notCompared}.`);
  const [first] = times;
  if (times.length > 1 || !first?.ratio) return 'The table has the ratio on each workload.';
  const { ratio, run: time } = first;
  if (ratio === 1) return `Both bests take ${timeOf(time)}.`;
  const [faster, slower] = ratio > 1 ? [run, against] : [against, run];
  return [
    'The best of ',
    strong(faster.runId),
    ` is ${time!.kind} ${formatRatio(Math.max(ratio, 1 / ratio))} faster than that of ${slower.runId}.`,
  ];
}

const bestOf = ({ best }: ComparedRun): string =>
  best
    ? `${best.candidate.kernel} (${formatParameters(best.candidate.parameters) || 'no parameters'}), ${formatTiming(best)}`
    : 'no valid time';

const runsTable = ({ run, against }: RunComparisonView): Part =>
  table(
    'Runs',
    [run, against],
    [
      names('run', ({ runId }) => runId),
      words('device', ({ device }) => device.name, 3),
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
    `${problem}: ${run.runId} against ${against.runId}`,
    [
      { kind: 'text', text: conclusion(view) },
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
          figures(run.runId, ({ run: time }) => timeOf(time)),
          figures(against.runId, ({ against: time }) => timeOf(time)),
          figures('ratio', ({ ratio }) => formatRatio(ratio)),
        ]),
      ]),
      section('changes', `From the best of ${against.runId} to that of ${run.runId}`, [
        changes && list(changeLines(changes, nothing)),
        sources && diffParts([['sources', sources]]),
      ]),
      section('differences', 'What else was different', [
        table('What else was different', differences, [
          names('what', ({ what }) => what),
          words(run.runId, (row) => row.run),
          words(against.runId, (row) => row.against),
        ]),
        differences.length === 0 && note('Nothing: both runs were asked the same, with the same programs.'),
      ]),
    ],
  );
}
