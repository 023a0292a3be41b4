import { useEffect, useRef, useState } from 'preact/hooks';
import { linearScale, logScale } from '../../src/reports/charts/scale.ts';
import { formatFigure, formatNs } from '../../src/reports/format.ts';
import type { EvaluationRow } from '../../src/server/wire.ts';

/** What the time of the best is drawn against. */
const AXES = {
  evaluations: (_row: EvaluationRow, index: number): number | null => index + 1,
  minutes: ({ minutes }: EvaluationRow, _index: number): number | null => minutes,
  money: ({ money }: EvaluationRow, _index: number): number | null => money,
} as const;
type Axis = keyof typeof AXES;

interface Point {
  readonly row: EvaluationRow;
  readonly at: number;
  readonly ns: number;
  readonly low: number;
  readonly high: number;
}

const HEIGHT = 320;
const MARGINS = { left: 64, right: 16, top: 14, bottom: 40 };
/** Intervals that can be told apart. */
const MOST_WHISKERS = 400;

/** Points of a run on its first workload: what has a valid time and a place on the axis. */
function pointsOf(rows: readonly EvaluationRow[], workload: string | null, axis: Axis): Point[] {
  return rows.flatMap((row, index) => {
    const at = AXES[axis](row, index);
    const { medianNs: ns, lowNs, highNs } = row;
    if (at === null || ns === null || (workload !== null && row.workload !== workload)) return [];
    return [{ row, at, ns, low: lowNs ?? ns, high: highNs ?? ns }];
  });
}

interface ProgressChartProps {
  readonly evaluations: readonly EvaluationRow[];
  readonly workload: string | null;
  readonly kind: string | null;
}

/** Times by what was spent, with the best so far as steps and its interval. */
export function ProgressChart({ evaluations, workload, kind }: ProgressChartProps) {
  const [axis, setAxis] = useState<Axis>('evaluations');
  const [box, width] = useWidth();
  const has = (name: Axis): boolean =>
    name === 'evaluations' || evaluations.some((row, i) => AXES[name](row, i) !== null);
  const points = pointsOf(evaluations, workload, axis);
  return (
    <figure class="progress">
      <fieldset class="choices">
        <legend>Best so far{kind !== null && `, ${kind}`}, against</legend>
        {(Object.keys(AXES) as Axis[]).map((name) => (
          <label key={name}>
            <input
              type="radio"
              name="axis"
              checked={name === axis}
              disabled={!has(name)}
              onChange={() => setAxis(name)}
            />
            {name}
          </label>
        ))}
      </fieldset>
      <div ref={box}>
        {points.length > 0 && width > 0 ? (
          <Plot points={points} width={width} label={axis} kind={kind ?? ''} />
        ) : (
          <p class="notice">No valid time yet.</p>
        )}
      </div>
    </figure>
  );
}

interface PlotProps {
  readonly points: readonly Point[];
  readonly width: number;
  readonly label: string;
  readonly kind: string;
}

function Plot({ points, width, label, kind }: PlotProps) {
  const right = width - MARGINS.right;
  const bottom = HEIGHT - MARGINS.bottom;
  const last = points.at(-1)!.at;
  const room = Math.max(3, Math.floor(width / 110));
  // There is no half an evaluation.
  const mostTicks = label === 'evaluations' ? Math.min(room, last) : room;
  const x = linearScale([0, Math.max(last, 1e-6)], [MARGINS.left, right], mostTicks);
  const lowest = Math.min(...points.map(({ low }) => low)) / 1.15;
  const highest = Math.max(...points.map(({ high }) => high)) * 1.15;
  const y = logScale([lowest, highest], [bottom, MARGINS.top], 7);
  const kept = points.filter(({ row }) => row.decision === 'keep');
  const steps = kept.flatMap(({ at, ns }, index) => [
    [x.at(at), y.at(ns)],
    [x.at(kept[index + 1]?.at ?? last), y.at(ns)],
  ]);
  const best = kept.at(-1);
  const whiskers = points.length > MOST_WHISKERS ? kept : points;
  const title = best ? `Best so far: ${kind} ${formatNs(best.ns)}, ${best.row.id}` : 'Nothing was kept yet';
  return (
    <svg
      class="chart"
      role="img"
      aria-label={`${title}, by ${label}`}
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
    >
      {y.ticks.map((value) => (
        <g key={value}>
          <line class="grid" x1={MARGINS.left} x2={right} y1={y.at(value)} y2={y.at(value)} />
          <text class="label" x={MARGINS.left - 8} y={y.at(value) + 4} text-anchor="end">
            {formatNs(value)}
          </text>
        </g>
      ))}
      {x.ticks.map((value) => (
        <text key={value} class="label" x={x.at(value)} y={bottom + 18} text-anchor="middle">
          {formatFigure(value)}
        </text>
      ))}
      <text class="label" x={right} y={HEIGHT - 6} text-anchor="end">
        {label}
      </text>
      {whiskers.map(({ row, at, low, high }) => (
        <line key={row.id} class="whisker" x1={x.at(at)} x2={x.at(at)} y1={y.at(low)} y2={y.at(high)} />
      ))}
      <path
        class="others"
        d={points
          .filter(({ row }) => row.decision !== 'keep')
          .map(({ at, ns }) => `M${x.at(at)} ${y.at(ns)}h0`)
          .join('')}
      />
      <polyline class="best-so-far" points={steps.map((point) => point.join(',')).join(' ')} />
      {kept.map(({ row, at, ns }) => (
        <circle key={row.id} class="kept" cx={x.at(at)} cy={y.at(ns)} r={4}>
          <title>{`${row.id} ${row.kernel}: ${formatNs(ns)}`}</title>
        </circle>
      ))}
    </svg>
  );
}

/** Width of an element, px, as it changes. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return [box, width] as const;
}
