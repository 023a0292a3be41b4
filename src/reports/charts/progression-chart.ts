import { formatInterval, formatNs, formatTime } from '../format.ts';
import { type Markup, markup } from '../markup.ts';
import { kindOf, verdictCell } from '../run-text.ts';
import type { RunView } from '../run-view.ts';
import type { ProgressionRow, Stage } from '../view/progression.ts';
import { type ChartSize, chart, line, type MarkKind, mark, polyline, text } from './chart.ts';
import { type LogScale, logScale } from './scale.ts';

const MARGINS = { left: 62, right: 18, top: 34, bottom: 40 };
/** Height of the strip below the plot for evaluations without a time. */
const FAILED_STRIP = 22;
/** The attainable bound is drawn while it is not further than this below the fastest time. */
const ATTAINABLE_REACH = 20;
/** Space a label of an evaluation, or of a time, takes. */
const LABEL_WIDTH = 34;
const VALUE_WIDTH = 62;

/** What an evaluation without a decision was. */
const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  judge: 'undecided',
  screen: 'measured longer after this',
  confirm: 'confirmation',
  ablation: 'ablation',
  'workload-advice': 'workload advice',
};

type TimedRow = ProgressionRow & { time: NonNullable<ProgressionRow['time']> };

const hasTime = (row: ProgressionRow): row is TimedRow => row.time !== null;

/** What the search did on the first workload; ablation and advice have their own parts of the report. */
const charted = ({ progression, workload }: RunView): ProgressionRow[] =>
  progression.filter(
    (row) => row.workload === workload.name && row.stage !== 'ablation' && row.stage !== 'workload-advice',
  );

function describe(row: ProgressionRow): string {
  const { time } = row;
  return [
    `${row.evaluationId} ${row.change}: ${time ? `${time.kind} ${formatTime(time.kind, time.medianNs)} ${formatInterval(time.kind, time.intervalNs)}` : row.status}`,
    ...(row.verdict ? [verdictCell(row)] : []),
    row.decision ?? STAGE_WORDS[row.stage],
  ].join(', ');
}

function kindOfMark(row: ProgressionRow, bestId: string | undefined): MarkKind {
  if (row.time === null) return 'failed';
  if (row.stage === 'confirm') return 'confirmed';
  if (row.evaluationId === bestId) return 'best';
  if (row.decision === 'keep') return row.iteration === 0 ? 'start' : 'kept';
  return row.decision === 'revert' ? 'reverted' : 'tried';
}

interface Scales {
  x(index: number): number;
  y: LogScale;
  failedY: number;
}

function scalesOf(rows: readonly ProgressionRow[], attainableNs: number | undefined, size: ChartSize): Scales {
  const times = rows.filter(hasTime).map(({ time }) => time);
  const low = Math.min(...times.map(({ intervalNs }) => intervalNs[0]));
  const high = Math.max(...times.map(({ intervalNs }) => intervalNs[1]));
  const reaches = attainableNs !== undefined && attainableNs * ATTAINABLE_REACH >= low;
  const strip = rows.every(hasTime) ? 0 : FAILED_STRIP;
  const bottom = size.height - MARGINS.bottom - strip;
  const plotWidth = size.width - MARGINS.left - MARGINS.right;
  return {
    x: (index) => Math.round(10 * (MARGINS.left + (plotWidth * (index + 0.5)) / rows.length)) / 10,
    y: logScale([Math.min(low, reaches ? attainableNs : low) / 1.25, high * 1.25], [bottom, MARGINS.top], 7),
    failedY: bottom + strip - 6,
  };
}

function whisker({ time }: TimedRow, x: number, { at }: LogScale): Markup {
  const [low, high] = time.intervalNs.map(at) as [number, number];
  return markup`${line('whisker', [x, low], [x, high])}${line('whisker', [x - 3, low], [x + 3, low])}${line('whisker', [x - 3, high], [x + 3, high])}`;
}

/** Staircase of the best time so far. */
function bestLine(rows: readonly ProgressionRow[], { x, y }: Scales): Markup {
  const points: [number, number][] = [];
  let best: number | undefined;
  rows.forEach((row, index) => {
    if (best !== undefined) points.push([x(index), y.at(best)]);
    if (row.decision !== 'keep' || !row.time) return;
    best = row.time.medianNs;
    points.push([x(index), y.at(best)]);
  });
  return polyline('best-so-far', points);
}

/** Names of the evaluations below the axis, every so many that they don't touch. */
function evaluationLabels(rows: readonly ProgressionRow[], { x }: Scales, size: ChartSize): Markup[] {
  const distance = (size.width - MARGINS.left - MARGINS.right) / rows.length;
  const every = Math.ceil(LABEL_WIDTH / distance);
  return rows.flatMap((row, index) =>
    index % every === 0
      ? [text(row.evaluationId, [x(index), size.height - MARGINS.bottom + 18], { anchor: 'middle' })]
      : [],
  );
}

/**
 * Times of kept changes, under the staircase, where nothing else is: whatever lies left of a kept mark was slower. Right
 * to left, so that the best is always labelled.
 */
function keptLabels(rows: readonly ProgressionRow[], { x, y }: Scales): Markup[] {
  let next = Number.POSITIVE_INFINITY;
  return rows
    .map((row, index) => ({ row, index }))
    .reverse()
    .flatMap(({ row, index }) => {
      if (row.decision !== 'keep' || !row.time || next - x(index) < VALUE_WIDTH) return [];
      next = x(index);
      const time = formatTime(row.time.kind, row.time.medianNs);
      const height = y.at(row.time.medianNs) + 18;
      const isAtEdge = x(index) - MARGINS.left < VALUE_WIDTH;
      return isAtEdge
        ? [text(time, [x(index) + 10, height], { className: 'value' })]
        : [text(time, [x(index) - 8, height], { anchor: 'end', className: 'value' })];
    });
}

function axes(rows: readonly ProgressionRow[], scales: Scales, size: ChartSize, kind: string): Markup[] {
  const { y } = scales;
  const right = size.width - MARGINS.right;
  return [
    text(`${kind} time, log scale`, [4, 16]),
    ...y.ticks.map(
      (ns) =>
        markup`${line('grid', [MARGINS.left, y.at(ns)], [right, y.at(ns)])}${text(formatNs(ns), [MARGINS.left - 8, y.at(ns) + 4], { anchor: 'end' })}`,
    ),
    ...evaluationLabels(rows, scales, size),
    text('evaluation', [right, size.height - 6], { anchor: 'end' }),
  ];
}

function attainableLine(attainableNs: number | undefined, { y }: Scales, size: ChartSize): Markup[] {
  if (attainableNs === undefined || attainableNs < y.low) return [];
  const [left, right] = [MARGINS.left, size.width - MARGINS.right];
  return [
    line('attainable', [left, y.at(attainableNs)], [right, y.at(attainableNs)]),
    text(`attainable ${formatNs(attainableNs)}`, [left + 4, y.at(attainableNs) - 6], { className: 'attainable-text' }),
  ];
}

/** Time by evaluation with intervals and decisions, and the best so far. Undefined where nothing has a time. */
export function progressionChart(view: RunView, size: ChartSize): Markup | undefined {
  const rows = charted(view);
  const kind = kindOf(view);
  if (!kind || !rows.some(hasTime)) return undefined;
  const attainableNs = view.bounds?.attainableNs;
  const scales = scalesOf(rows, attainableNs, size);
  const { problem, workload, device } = view;
  const failures = rows.filter((row) => !hasTime(row)).length;
  return chart(
    size,
    {
      title: `${problem.name} ${workload.name} on ${device.name}: ${kind} time by evaluation`,
      description: `${rows.length} evaluations, ${rows.filter(({ decision }) => decision === 'keep').length} of them kept, ${failures} without a valid time; the table of all evaluations has the same figures.`,
    },
    [
      ...axes(rows, scales, size, kind),
      ...attainableLine(attainableNs, scales, size),
      bestLine(rows, scales),
      ...(failures > 0 ? [text('no time', [MARGINS.left - 8, scales.failedY + 4], { anchor: 'end' })] : []),
      ...rows.map((row, index) =>
        mark(
          kindOfMark(row, view.best?.evaluationId),
          [scales.x(index), hasTime(row) ? scales.y.at(row.time.medianNs) : scales.failedY],
          describe(row),
          hasTime(row) ? whisker(row, scales.x(index), scales.y) : undefined,
        ),
      ),
      ...keptLabels(rows, scales),
    ],
  );
}
