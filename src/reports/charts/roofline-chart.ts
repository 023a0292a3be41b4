import type { Roof } from '../../core/roofline.ts';
import { formatFigure, formatNs, formatParameters, formatPrefixed, formatRate, formatTime } from '../format.ts';
import type { Markup } from '../markup.ts';
import type { RooflinePoint, RooflineView } from '../view/roofline.ts';
import * as svg from './chart.ts';
import { logScale, type Scale } from './scale.ts';

const MARGINS = { left: 52, right: 18, top: 34, bottom: 44 };
/** Room around what is drawn, as a factor. */
const ROOM = 2.2;

interface Plot {
  readonly x: Scale;
  readonly y: Scale;
  readonly frame: svg.Frame;
}

/** FLOP/s a roof allows at an intensity. */
const heightOf = ({ flopPerSecond, bytesPerSecond }: Roof, intensity: number): number =>
  bytesPerSecond === null ? flopPerSecond : Math.min(flopPerSecond, intensity * bytesPerSecond);

/** Intensity above which compute bounds, not memory. */
const ridgeOf = ({ flopPerSecond, bytesPerSecond }: Roof): number[] =>
  bytesPerSecond === null ? [] : [flopPerSecond / bytesPerSecond];

/** The intensity of the least bytes that must be read; none where nothing must be. */
const leastIntensity = ({ flop, minimumReadBytes }: RooflineView): number[] =>
  minimumReadBytes > 0 ? [flop / minimumReadBytes] : [];

function plotOf(view: RooflineView, frame: svg.Frame): Plot {
  const { points, veto, attainable, flop, vetoNs } = view;
  const intensities = [
    ...points.map(({ intensity }) => intensity),
    ...ridgeOf(veto),
    ...ridgeOf(attainable),
    ...leastIntensity(view),
  ];
  // Where no FLOP must be done and no byte must come from DRAM, the provable bound is 0 ns: no height to draw it at.
  const vetoRates = vetoNs > 0 ? [flop / (vetoNs / 1e9)] : [];
  const rates = [...points.map(({ flopPerSecond }) => flopPerSecond), veto.flopPerSecond, ...vetoRates];
  // Nothing counted, nothing read, no roof of memory: intensities mean nothing, and rates are drawn all the same.
  const drawn = intensities.length > 0 ? intensities : [1];
  const around = (values: readonly number[]) => [Math.min(...values) / ROOM, Math.max(...values) * ROOM] as const;
  return {
    x: logScale(around(drawn), [frame.left, frame.right], 6),
    y: logScale(around(rates), [frame.bottom, frame.top], 7),
    frame,
  };
}

function roofLine(className: string, roof: Roof, { x, y }: Plot): Markup {
  const foot = roof.bytesPerSecond === null ? x.low : Math.max(x.low, y.low / roof.bytesPerSecond);
  const corners = [foot, ...ridgeOf(roof).filter((ridge) => ridge > foot && ridge < x.high), x.high];
  return svg.polyline(
    className,
    corners.map((intensity): svg.Point => [x.at(intensity), y.at(Math.max(y.low, heightOf(roof, intensity)))]),
  );
}

/** What a bound on the time amounts to, at the intensity of the least bytes that must be read; at the right without any. */
function boundMark(kind: 'veto' | 'attainable', view: RooflineView, { x, y, frame }: Plot): Markup[] {
  const ns = view[`${kind}Ns`];
  if (!(ns > 0)) return [];
  const [words, label] = kind === 'veto' ? ['lower bound', 'provable'] : [kind, kind];
  const [intensity = x.high] = leastIntensity(view);
  const center = x.at(intensity);
  const height = y.at(view.flop / (ns / 1e9));
  const isAtEdge = frame.right + MARGINS.right - center < BOUND_LABEL_WIDTH;
  // Above, since candidates, whose names stand beside them, are below.
  const place: svg.Point = [isAtEdge ? frame.right + MARGINS.right - 2 : center, height - 7];
  return [
    svg.told(`${words}: ${formatNs(ns)}`, [
      svg.line(`${kind} bound`, [center - 16, height], [center + 16, height]),
      svg.text(`${label} ${formatNs(ns)}`, place, { anchor: isAtEdge ? 'end' : 'middle', className: `${kind}-text` }),
    ]),
  ];
}

/** Space half a bound's label takes. */
const BOUND_LABEL_WIDTH = 66;
/** Drawn in this order, so that what matters most lies on top. */
const ORDER: readonly RooflinePoint['role'][] = ['tried', 'kept', 'start', 'best'];

function pointMark(name: string, point: RooflinePoint, flop: number, { x, y }: Plot): Markup {
  const { role, candidate, kind, intensity, flopPerSecond, bytes, bytesSource } = point;
  const time = formatTime(kind, (flop / flopPerSecond) * 1e9);
  const title = `${name}: ${candidate.kernel} ${formatParameters(candidate.parameters)}: ${kind} ${time}, ${formatRate(flopPerSecond, 'FLOP')} at ${formatFigure(intensity)} FLOP/B (${formatFigure(bytes)} B: ${bytesSource})`;
  const isPlaced = bytesSource !== 'least the problem reads' || role !== 'tried';
  return svg.mark(isPlaced ? role : 'uncounted', [x.at(intensity), y.at(flopPerSecond)], title);
}

/** Start and best by name, and a kernel that is alone, on the side where there is room. */
function nameOf(name: string, { intensity, flopPerSecond }: RooflinePoint, { x, y, frame }: Plot): Markup {
  const isRight = x.at(intensity) > frame.left + (frame.right - frame.left) * 0.62;
  const place: svg.Point = [x.at(intensity) + (isRight ? -14 : 14), y.at(flopPerSecond) + 4];
  return svg.text(`${name}, ${formatRate(flopPerSecond, 'FLOP')}`, place, {
    anchor: isRight ? 'end' : 'start',
    className: 'value',
  });
}

/** Both rooflines, both bounds, and every candidate that has a time. */
export function rooflineChart(view: RooflineView): svg.Chart {
  const { points, flop, kind, workload, veto, attainable } = view;
  const named = points.filter(({ role }) => role === 'start' || role === 'best');
  const nameFor = ({ role, evaluationId }: RooflinePoint): string =>
    points.length === 1 ? 'this kernel' : `${role} ${evaluationId}`;
  const rates = named.map((point) => `${nameFor(point)}: ${kind} ${formatRate(point.flopPerSecond, 'FLOP')}.`);
  const texts = {
    title: `Roofline of ${workload}: ${kind} rates of ${points.length} evaluations under the provable and the attainable roof`,
    description: `Provable roof ${formatRate(veto.flopPerSecond, 'FLOP')}, attainable roof ${formatRate(attainable.flopPerSecond, 'FLOP')}. ${rates.join(' ')}`,
  };
  const ordered = ORDER.flatMap((role) => points.filter((point) => point.role === role));
  return (size) => {
    const plot = plotOf(view, svg.frameOf(size, MARGINS));
    const { x, y, frame } = plot;
    return svg.chart(size, texts, [
      svg.text(`useful FLOP/s at the ${kind} time, log scale`, [4, 16]),
      ...svg.yAxis(y, frame, formatPrefixed),
      ...svg.xAxis(x, frame, formatFigure),
      svg.text('FLOP per byte, log scale', [frame.right, size.height - 6], { anchor: 'end' }),
      roofLine('veto', veto, plot),
      roofLine('attainable', attainable, plot),
      ...boundMark('veto', view, plot),
      ...boundMark('attainable', view, plot),
      ...ordered.map((point) => pointMark(nameFor(point), point, flop, plot)),
      ...named.map((point) => nameOf(nameFor(point), point, plot)),
    ]);
  };
}
