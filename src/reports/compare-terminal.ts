import type { ComparedCandidate, ComparedSide, ComparedWorkload, CompareView } from './compare-view.ts';
import { formatParameters, formatRatioInterval, formatTime } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import { type Column, textTable } from './table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'workload' },
  { title: 'baseline', align: 'right' },
  { title: 'candidate', align: 'right' },
  { title: 'candidate is' },
  { title: '95 % interval' },
  { title: 'blocks', align: 'right' },
];

const describeSide = ({ status, timing }: ComparedSide): string =>
  status === 'passed' && timing ? `${timing.kind} ${formatTime(timing.kind, timing.medianNs)}` : status;

const describeRatio = (kind: string, ratio: number): string => {
  const [times, word] = ratio >= 1 ? [ratio.toFixed(3), 'faster'] : [(1 / ratio).toFixed(3), 'slower'];
  return times === '1.000' ? `${kind} as fast` : `${kind} ${times}× ${word}`;
};

/** Of a measured ratio the verdict comes first: the ratio alone says nothing. */
const describeRow = ({ ratio, verdict }: ComparedWorkload): string => {
  if (ratio === null) return 'not compared';
  return verdict === undefined ? describeRatio('predicted', ratio) : `${verdict}: measured ${ratio.toFixed(3)}×`;
};

const cells = (row: ComparedWorkload): string[] => [
  row.workload,
  describeSide(row.baseline),
  describeSide(row.candidate),
  describeRow(row),
  row.intervalRatio ? formatRatioInterval(row.intervalRatio) : '–',
  row.blockCount === undefined ? '–' : String(row.blockCount),
];

const describeCandidate = ({ label, id, parameters }: ComparedCandidate): string => {
  const values = formatParameters(parameters);
  return `${label}, candidate ${id}${values === '' ? '' : `, ${values}`}`;
};

const reasons = ({ workloads }: CompareView): string[] =>
  workloads.flatMap((row) =>
    (['baseline', 'candidate'] as const).flatMap((side) =>
      row[side].status === 'passed'
        ? []
        : [`${row.workload}: the ${side} is ${row[side].status}: ${row[side].reason ?? 'no reason given'}`],
    ),
  );

/** Correctness of both sides in a line: what was checked, and how near to its tolerance the worst element came. */
const correctness = ({ workloads }: CompareView): string => {
  const passed = (side: 'baseline' | 'candidate'): boolean => workloads.every((row) => row[side].status === 'passed');
  if (passed('baseline') && passed('candidate')) return 'Both are right on every check.';
  const wrong = (['baseline', 'candidate'] as const).filter((side) => !passed(side));
  return `Not every check is passed by the ${wrong.join(' and the ')}.`;
};

const describeMean = ({ geometricMean, workloads }: CompareView): string[] =>
  geometricMean && workloads.length > 1
    ? [
        `Geometric mean over ${workloads.length} workloads, weighted: ${describeRatio(geometricMean.kind, geometricMean.ratio)}.`,
      ]
    : [];

const describeFailing = ({ failOn, failing }: CompareView, paint: Paint): string[] => {
  if (failing.length > 0) {
    const asked = failOn === null ? 'No ratio for' : `--fail-on ${failOn} fails on`;
    return [paint('red', `${asked} ${failing.join(', ')}.`)];
  }
  return failOn === null ? [] : [paint('green', `--fail-on ${failOn}: no workload fails it.`)];
};

/** A comparison for a terminal. */
export function compareTerminal(view: CompareView, paint: Paint = plainPaint): string {
  const { device, problem } = view;
  const lines = [
    paint('bold', `${problem} on ${device.name} (${device.id})`),
    `baseline:  ${describeCandidate(view.baseline)}`,
    `candidate: ${describeCandidate(view.candidate)}`,
    '',
    correctness(view),
    ...reasons(view),
    '',
    textTable(COLUMNS, view.workloads.map(cells), (text) => paint('dim', text)),
    '',
    ...describeMean(view),
    ...describeFailing(view, paint),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}
