import type { ComparedCandidate, ComparedSide, ComparedWorkload, CompareView } from '../compare-view.ts';
import {
  bad,
  type Document,
  documentOf,
  figures,
  good,
  type Inline,
  list,
  section,
  table,
  text,
  words,
} from '../document.ts';
import { formatKindAndTime, formatParameters, formatRatioInterval } from '../format.ts';
import { journalLine } from '../sections/run-words.ts';

const SIDES = ['baseline', 'candidate'] as const;

const describeSide = ({ status, timing }: ComparedSide): string =>
  status === 'passed' && timing ? formatKindAndTime(timing) : status;

function describeRatio(kind: string, ratio: number): string {
  const [times, word] = ratio >= 1 ? [ratio.toFixed(3), 'faster'] : [(1 / ratio).toFixed(3), 'slower'];
  return times === '1.000' ? `${kind} as fast` : `${kind} ${times}× ${word}`;
}

/** Of a measured ratio the verdict comes first: the ratio alone says nothing. */
function describeRow({ ratio, verdict }: ComparedWorkload): string {
  if (ratio === null) return 'not compared';
  return verdict === undefined ? describeRatio('predicted', ratio) : `${verdict}: measured ${ratio.toFixed(3)}×`;
}

const describeCandidate = ({ label, id, parameters }: ComparedCandidate): string =>
  [label, `candidate ${id}`, formatParameters(parameters)].filter((part) => part !== '').join(', ');

const isRight = ({ workloads }: CompareView, side: (typeof SIDES)[number]): boolean =>
  workloads.every((row) => row[side].status === 'passed');

function correctness(view: CompareView): string {
  const wrong = SIDES.filter((side) => !isRight(view, side));
  return wrong.length === 0
    ? 'Both are right on every check.'
    : `Not every check is passed by the ${wrong.join(' and the ')}.`;
}

const reasons = ({ workloads }: CompareView): string[] =>
  workloads.flatMap((row) =>
    SIDES.filter((side) => row[side].status !== 'passed').map(
      (side) => `${row.workload}: the ${side} is ${row[side].status}: ${row[side].reason ?? 'no reason given'}`,
    ),
  );

function conclusion({ geometricMean, workloads, failOn, failing }: CompareView): Inline[] {
  const mean =
    geometricMean && workloads.length > 1
      ? [
          `Geometric mean over ${workloads.length} workloads, weighted: ${describeRatio(geometricMean.kind, geometricMean.ratio)}.`,
        ]
      : [];
  const asked = failOn === null ? 'No ratio for' : `--fail-on ${failOn} fails on`;
  if (failing.length > 0) return [...mean, bad(`${asked} ${failing.join(', ')}.`)];
  return failOn === null ? mean : [...mean, good(`--fail-on ${failOn}: no workload fails it.`)];
}

/** A comparison of two candidates. */
export const compareDocument = (view: CompareView): Document =>
  documentOf(
    `${view.problem} on ${view.device.name} (${view.device.id})`,
    [
      list(SIDES.map((side) => ({ term: side, text: describeCandidate(view[side]) }))),
      text(correctness(view)),
      view.journal && text(journalLine(view.journal)),
    ],
    [
      section('reasons', 'What did not pass', [list(reasons(view))]),
      section('workloads', 'Workloads', [
        table('Workloads', view.workloads, [
          words('workload', ({ workload }) => workload),
          figures('baseline', ({ baseline }) => describeSide(baseline)),
          figures('candidate', ({ candidate }) => describeSide(candidate)),
          words('candidate is', describeRow),
          words('95 % interval', ({ intervalRatio }) => formatRatioInterval(intervalRatio), 1),
          figures('blocks', ({ blockCount }) => blockCount, 2),
        ]),
        list(conclusion(view)),
      ]),
    ],
  );
