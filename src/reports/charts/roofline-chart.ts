import type { Roof } from '../../core/roofline.ts';
import { formatFigure, formatNs, formatParameters, formatTime } from '../format.ts';
import { type Markup, markup } from '../markup.ts';
import { formatPrefixed, formatRate } from '../parts-text.ts';
import type { RooflinePoint, RooflineView } from '../view/roofline.ts';
import { type ChartSize, chart, line, type MarkKind, mark, polyline, text } from './chart.ts';
import { type LogScale, logScale } from './scale.ts';

const MARGINS = { left: 52, right: 18, top: 34, bottom: 44 };
/** Room around what is drawn, as a factor. */
const ROOM = 2.2;

interface Scales {
  x: LogScale;
  y: LogScale;
}

/** FLOP/s a roof allows at an intensity. */
const heightOf = ({ flopPerSecond, bytesPerSecond }: Roof, intensity: number): number =>
  bytesPerSecond === null ? flopPerSecond : Math.min(flopPerSecond, intensity * bytesPerSecond);

/** Intensity above which compute bounds, not memory. */
const ridgeOf = ({ flopPerSecond, bytesPerSecond }: Roof): number[] =>
  bytesPerSecond === null ? [] : [flopPerSecond / bytesPerSecond];

/** The intensity of the least bytes that must be read; none where nothing must be. */
const leastIntensity = ({ flop, minimumReadBytes }: Pick<RooflineView, 'flop' | 'minimumReadBytes'>): number[] =>
  minimumReadBytes > 0 ? [flop / minimumReadBytes] : [];

function scalesOf({ points, veto, attainable, flop, minimumReadBytes, vetoNs }: RooflineView, size: ChartSize): Scales {
  const intensities = [
    ...points.map(({ intensity }) => intensity),
    ...ridgeOf(veto),
    ...ridgeOf(attainable),
    ...leastIntensity({ flop, minimumReadBytes }),
  ];
  // Where no FLOP must be done and no byte must come from DRAM, the provable bound is 0 ns: no height to draw it at.
  const vetoRates = vetoNs > 0 ? [flop / (vetoNs / 1e9)] : [];
  const rates = [...points.map(({ flopPerSecond }) => flopPerSecond), veto.flopPerSecond, ...vetoRates];
  const right = size.width - MARGINS.right;
  const bottom = size.height - MARGINS.bottom;
  // Nothing counted, nothing read, no roof of memory: intensities mean nothing, and rates are drawn all the same.
  const drawn = intensities.length > 0 ? intensities : [1];
  return {
    x: logScale([Math.min(...drawn) / ROOM, Math.max(...drawn) * ROOM], [MARGINS.left, right], 6),
    y: logScale([Math.min(...rates) / ROOM, Math.max(...rates) * ROOM], [bottom, MARGINS.top], 7),
  };
}

function roofLine(className: string, roof: Roof, { x, y }: Scales): Markup {
  const foot = roof.bytesPerSecond === null ? x.low : Math.max(x.low, y.low / roof.bytesPerSecond);
  const corners = [foot, ...ridgeOf(roof).filter((ridge) => ridge > foot && ridge < x.high), x.high];
  return polyline(
    className,
    corners.map((intensity): [number, number] => [x.at(intensity), y.at(Math.max(y.low, heightOf(roof, intensity)))]),
  );
}

function axes({ x, y }: Scales, size: ChartSize, kind: string): Markup[] {
  const [right, bottom] = [size.width - MARGINS.right, size.height - MARGINS.bottom];
  return [
    text(`useful FLOP/s at the ${kind} time, log scale`, [4, 16]),
    ...y.ticks.map(
      (rate) =>
        markup`${line('grid', [MARGINS.left, y.at(rate)], [right, y.at(rate)])}${text(formatPrefixed(rate), [MARGINS.left - 8, y.at(rate) + 4], { anchor: 'end' })}`,
    ),
    ...x.ticks.map(
      (intensity) =>
        markup`${line('grid', [x.at(intensity), MARGINS.top], [x.at(intensity), bottom])}${text(formatFigure(intensity), [x.at(intensity), bottom + 18], { anchor: 'middle' })}`,
    ),
    text('FLOP per byte, log scale', [right, size.height - 6], { anchor: 'end' }),
  ];
}

/** What the bounds on the time amount to, at the intensity of the least bytes that must be read; at the right where there are none. */
function boundMarks(
  { flop, minimumReadBytes, vetoNs, attainableNs }: RooflineView,
  { x, y }: Scales,
  size: ChartSize,
): Markup[] {
  const [intensity = x.high] = leastIntensity({ flop, minimumReadBytes });
  const center = x.at(intensity);
  const isAtEdge = size.width - center < BOUND_LABEL_WIDTH;
  const place = isAtEdge ? size.width - 2 : center;
  return (
    [
      ['veto', vetoNs, 'no kernel can be faster than'],
      ['attainable', attainableNs, 'attainable:'],
    ] as const
  ).flatMap(([className, ns, words]) => {
    if (!(ns > 0)) return [];
    const height = y.at(flop / (ns / 1e9));
    return markup`<g><title>${words} ${formatNs(ns)}</title>${line(`${className} bound`, [center - 16, height], [center + 16, height])}${text(`${className === 'veto' ? 'provable' : 'attainable'} ${formatNs(ns)}`, [place, className === 'veto' ? height - 7 : height + 16], { anchor: isAtEdge ? 'end' : 'middle', className: `${className}-text` })}</g>`;
  });
}

const MARKS: Readonly<Record<RooflinePoint['role'], MarkKind>> = {
  start: 'start',
  best: 'best',
  kept: 'kept',
  tried: 'tried',
};
/** Space half a bound's label takes. */
const BOUND_LABEL_WIDTH = 66;
/** Drawn in this order, so that what matters most lies on top. */
const ORDER: readonly RooflinePoint['role'][] = ['tried', 'kept', 'start', 'best'];

function pointMark(
  { role, evaluationId, candidate, kind, intensity, flopPerSecond, bytes, bytesSource }: RooflinePoint,
  flop: number,
  { x, y }: Scales,
): Markup {
  const ns = (flop / flopPerSecond) * 1e9;
  const title = `${role} ${evaluationId}: ${candidate.kernel} ${formatParameters(candidate.parameters)}: ${kind} ${formatTime(kind, ns)}, ${formatRate(flopPerSecond, 'FLOP')} at ${formatFigure(intensity)} FLOP/B (${formatFigure(bytes)} B: ${bytesSource})`;
  const isPlaced = bytesSource !== 'least the problem reads' || role !== 'tried';
  return mark(isPlaced ? MARKS[role] : 'uncounted', [x.at(intensity), y.at(flopPerSecond)], title);
}

/** Start and best by name, on the side where there is room. */
function nameOf(
  { role, evaluationId, intensity, flopPerSecond }: RooflinePoint,
  { x, y }: Scales,
  size: ChartSize,
): Markup {
  const [px, py] = [x.at(intensity), y.at(flopPerSecond)];
  const isRight = px > size.width * 0.62;
  return text(`${role} ${evaluationId}, ${formatRate(flopPerSecond, 'FLOP')}`, [isRight ? px - 14 : px + 14, py + 4], {
    anchor: isRight ? 'end' : 'start',
    className: 'value',
  });
}

/** Both rooflines, both bounds, and every candidate that has a time. */
export function rooflineChart(view: RooflineView, size: ChartSize): Markup {
  const scales = scalesOf(view, size);
  const { points, flop, kind, workload, veto, attainable } = view;
  const named = points.filter(({ role }) => role === 'start' || role === 'best');
  return chart(
    size,
    {
      title: `Roofline of ${workload}: ${kind} rates of ${points.length} evaluations under the provable and the attainable roof`,
      description: `Provable roof ${formatRate(veto.flopPerSecond, 'FLOP')}, attainable roof ${formatRate(attainable.flopPerSecond, 'FLOP')}. ${named
        .map(({ role, flopPerSecond }) => `The ${role} is at ${kind} ${formatRate(flopPerSecond, 'FLOP')}.`)
        .join(' ')}`,
    },
    [
      ...axes(scales, size, kind),
      roofLine('veto', veto, scales),
      roofLine('attainable', attainable, scales),
      ...boundMarks(view, scales, size),
      ...ORDER.flatMap((role) => points.filter((point) => point.role === role)).map((point) =>
        pointMark(point, flop, scales),
      ),
      ...named.map((point) => nameOf(point, scales, size)),
    ],
  );
}
