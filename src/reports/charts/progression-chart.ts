import { formatNs, formatTime, formatTiming } from '../format.ts';
import type { Markup } from '../markup.ts';
import type { RunView } from '../run-view.ts';
import { kindOf, verdictCell } from '../sections/run-words.ts';
import type { ProgressionRow, Stage } from '../view/progression.ts';
import * as svg from './chart.ts';
import { logScale, round, type Scale } from './scale.ts';

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
    `${row.evaluationId} ${row.change}: ${time ? formatTiming(time) : row.status}`,
    ...(row.verdict ? [verdictCell(row)] : []),
    row.decision ?? STAGE_WORDS[row.stage],
  ].join(', ');
}

function kindOfMark(row: ProgressionRow, bestId: string | undefined): svg.MarkKind {
  if (row.time === null) return 'failed';
  if (row.stage === 'confirm') return 'confirmed';
  if (row.evaluationId === bestId) return 'best';
  if (row.decision === 'keep') return row.iteration === 0 ? 'start' : 'kept';
  return row.decision === 'revert' ? 'reverted' : 'tried';
}

interface Plot {
  readonly rows: readonly ProgressionRow[];
  readonly frame: svg.Frame;
  x(index: number): number;
  readonly y: Scale;
  /** Where evaluations without a time are. */
  readonly failedY: number;
}

function plotOf(rows: readonly ProgressionRow[], attainableNs: number | undefined, size: svg.ChartSize): Plot {
  const times = rows.filter(hasTime).map(({ time }) => time);
  const low = Math.min(...times.map(({ intervalNs }) => intervalNs[0]));
  const high = Math.max(...times.map(({ intervalNs }) => intervalNs[1]));
  const reaches = attainableNs !== undefined && attainableNs * ATTAINABLE_REACH >= low;
  const strip = rows.every(hasTime) ? 0 : FAILED_STRIP;
  const frame = svg.frameOf(size, { ...MARGINS, bottom: MARGINS.bottom + strip });
  const range = [Math.min(low, reaches ? attainableNs : low) / 1.25, high * 1.25] as const;
  return {
    rows,
    frame,
    x: (index) => round(frame.left + ((frame.right - frame.left) * (index + 0.5)) / rows.length),
    y: logScale(range, [frame.bottom, frame.top], 7),
    failedY: frame.bottom + strip - 6,
  };
}

/** Staircase of the best time so far. */
function bestLine({ rows, x, y }: Plot): Markup {
  const points: svg.Point[] = [];
  let best: number | undefined;
  rows.forEach((row, index) => {
    if (best !== undefined) points.push([x(index), y.at(best)]);
    if (row.decision !== 'keep' || !row.time) return;
    best = row.time.medianNs;
    points.push([x(index), y.at(best)]);
  });
  return svg.polyline('best-so-far', points);
}

/** Names of the evaluations below the axis, every so many that they don't touch. */
function evaluationLabels({ rows, x, frame }: Plot, { height }: svg.ChartSize): Markup[] {
  const every = Math.ceil((LABEL_WIDTH * rows.length) / (frame.right - frame.left));
  return rows.flatMap(({ evaluationId }, index) =>
    index % every === 0 ? [svg.text(evaluationId, [x(index), height - MARGINS.bottom + 18], { anchor: 'middle' })] : [],
  );
}

/**
 * Times of kept changes, under the staircase, where nothing else is: whatever lies left of a kept mark was slower. Right
 * to left, so that the best is always labelled.
 */
function keptLabels({ rows, x, y }: Plot): Markup[] {
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
      const [beside, anchor] = isAtEdge ? ([10, 'start'] as const) : ([-8, 'end'] as const);
      return [svg.text(time, [x(index) + beside, height], { anchor, className: 'value' })];
    });
}

function attainableLine(attainableNs: number | undefined, { y, frame: { left, right } }: Plot): Markup[] {
  if (attainableNs === undefined || attainableNs < y.low) return [];
  const height = y.at(attainableNs);
  return [
    svg.line('attainable', [left, height], [right, height]),
    svg.text(`attainable ${formatNs(attainableNs)}`, [left + 4, height - 6], { className: 'attainable-text' }),
  ];
}

function markOf(row: ProgressionRow, index: number, bestId: string | undefined, { x, y, failedY }: Plot): Markup {
  const kind = kindOfMark(row, bestId);
  if (!hasTime(row)) return svg.mark(kind, [x(index), failedY], describe(row));
  const [low, high] = row.time.intervalNs.map(y.at) as [number, number];
  const interval = svg.whisker([x(index), low], [x(index), high]);
  return svg.mark(kind, [x(index), y.at(row.time.medianNs)], describe(row), interval);
}

/** Time by evaluation with intervals and decisions, and the best so far. Undefined where nothing has a time. */
export function progressionChart(view: RunView): svg.Chart | undefined {
  const rows = charted(view);
  const kind = kindOf(view);
  if (!kind || !rows.some(hasTime)) return undefined;
  const { problem, workload, device, bounds, best } = view;
  const failures = rows.filter((row) => !hasTime(row)).length;
  const texts = {
    title: `${problem.name} ${workload.name} on ${device.name}: ${kind} time by evaluation`,
    description: `${rows.length} evaluations, ${rows.filter(({ decision }) => decision === 'keep').length} of them kept, ${failures} without a valid time; the table of all evaluations has the same figures.`,
  };
  return (size) => {
    const plot = plotOf(rows, bounds?.attainableNs, size);
    const { frame, failedY } = plot;
    return svg.chart(size, texts, [
      svg.text(`${kind} time, log scale`, [4, 16]),
      ...svg.yAxis(plot.y, frame, formatNs),
      ...evaluationLabels(plot, size),
      svg.text('evaluation', [frame.right, size.height - 6], { anchor: 'end' }),
      ...attainableLine(bounds?.attainableNs, plot),
      bestLine(plot),
      ...(failures > 0 ? [svg.text('no time', [frame.left - 8, failedY + 4], { anchor: 'end' })] : []),
      ...rows.map((row, index) => markOf(row, index, best?.evaluationId, plot)),
      ...keptLabels(plot),
    ]);
  };
}
