import { formatKindAndTime, formatNs, formatParameters } from '../format.ts';
import { type Markup, markup } from '../markup.ts';
import type { TriedSetting, TriedSettings } from '../view/tried-settings.ts';
import { type Chart, type ChartSize, chart, type Frame, frameOf, line, type Point, text, told } from './chart.ts';
import { logScale, round } from './scale.ts';

const MARGINS = { left: 62, right: 18, top: 34, bottom: 40 };
/** Around parallel axes: room for a value on each side, and for two lines of names. */
const AXES = { left: 34, right: 62, top: 46, bottom: 14 };
const MOST_CELL = { width: 110, height: 44 };

const described = ({ parameters, time }: TriedSetting): string =>
  `${time.evaluationId} ${formatParameters(parameters)}: ${formatKindAndTime(time)}`;

/** 0 for the slowest setting, 1 for the fastest; by the logarithm, as times differ by factors. */
function speedOf(settings: readonly TriedSetting[]): (setting: TriedSetting) => number {
  const logs = settings.map(({ time }) => Math.log(time.medianNs));
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  return ({ time }) => (high > low ? (high - Math.log(time.medianNs)) / (high - low) : 1);
}

/** Labels of a time axis lie at least this far apart. */
const LABEL_HEIGHT = 15;

/** How strongly something is painted: the fastest most. */
const strength = (speed: number): number => round(10 * (0.12 + 0.88 * speed)) / 10;

/** A cell for each pair of values; those that were not tried are empty. */
function heatMap({ varied, settings }: TriedSettings, size: ChartSize): Markup[] {
  const [across, down] = varied as [TriedSettings['varied'][number], TriedSettings['varied'][number]];
  const frame = frameOf(size, MARGINS);
  const width = Math.min(MOST_CELL.width, (frame.right - frame.left) / across.values.length);
  const height = Math.min(MOST_CELL.height, (frame.bottom - frame.top) / down.values.length);
  const speed = speedOf(settings);
  const corner = (column: number, row: number): Point => [
    round(frame.left + column * width),
    round(frame.top + row * height),
  ];
  const cell = (setting: TriedSetting): Markup => {
    const [column, row] = [across, down].map(({ name, values }) => values.indexOf(setting.parameters[name] ?? NaN)) as [
      number,
      number,
    ];
    const [[left, top], [right, bottom]] = [corner(column, row), corner(column + 1, row + 1)];
    const label = [
      text(formatNs(setting.time.medianNs), [round((left + right) / 2), round((top + bottom) / 2 + 4)], {
        anchor: 'middle',
        className: 'value',
      }),
    ];
    return told(described(setting), [
      markup`<rect class="heat" opacity="${strength(speed(setting))}" x="${left + 1}" y="${top + 1}" width="${round(width - 2)}" height="${round(height - 2)}"/>`,
      ...(width >= 56 ? label : []),
    ]);
  };
  const bottom = frame.top + down.values.length * height;
  return [
    text(`${down.name} ↓`, [4, 16]),
    text(`${across.name} →`, [frame.left, round(bottom + 34)]),
    ...settings.map(cell),
    ...down.values.map((value, row) =>
      text(String(value), [frame.left - 8, round(frame.top + (row + 0.5) * height + 4)], { anchor: 'end' }),
    ),
    ...across.values.map((value, column) =>
      text(String(value), [round(frame.left + (column + 0.5) * width), round(bottom + 18)], { anchor: 'middle' }),
    ),
  ];
}

/** An axis for each parameter and one for the time, and a line through them for each setting. */
function parallelAxes({ varied, settings }: TriedSettings, size: ChartSize): Markup[] {
  const frame: Frame = frameOf(size, AXES);
  const times = settings.map(({ time }) => time.medianNs);
  // Some room, so that equal times have an axis, too; the fastest is at the top.
  const time = logScale([Math.min(...times) / 1.02, Math.max(...times) * 1.02], [frame.top, frame.bottom], 6);
  const x = (axis: number): number => round(frame.left + ((frame.right - frame.left) * axis) / varied.length);
  const y = (values: readonly number[], value: number): number =>
    round(frame.bottom - ((frame.bottom - frame.top) * (values.indexOf(value) + 0.5)) / values.length);
  const [slowest, fastest] = [times[0]!, times.at(-1)!];
  const ends = [time.at(slowest), time.at(fastest)];
  const ticks = time.ticks.filter((ns) => ends.every((end) => Math.abs(time.at(ns) - end) >= LABEL_HEIGHT));
  const path = (setting: TriedSetting, index: number): Markup => {
    const points = varied.flatMap(({ name, values }, axis): Point[] => {
      const value = setting.parameters[name];
      return value === undefined ? [] : [[x(axis), y(values, value)]];
    });
    const all: Point[] = [...points, [x(varied.length), time.at(setting.time.medianNs)]];
    // By rank: one slow setting would make all others look alike.
    const speed = (index + 1) / settings.length;
    return told(described(setting), [
      markup`<polyline class="setting${speed === 1 && ' fastest'}" opacity="${strength(speed)}" points="${all.map((point) => point.join(',')).join(' ')}"/>`,
    ]);
  };
  const axis = (at: number, name: string): Markup[] => [
    line('axis', [x(at), frame.top], [x(at), frame.bottom]),
    text(name, [x(at), frame.top - (at % 2 === 0 ? 10 : 26)], {
      anchor: at === 0 ? 'start' : at === varied.length ? 'end' : 'middle',
    }),
  ];
  return [
    ...settings.map(path),
    ...varied.flatMap(({ name, values }, at) => [
      ...axis(at, name),
      ...values.map((value) =>
        text(String(value), [x(at) - 5, y(values, value) + 4], { anchor: 'end', className: 'value' }),
      ),
    ]),
    ...axis(varied.length, 'time'),
    ...[slowest, ...ticks, fastest].map((ns) => text(formatNs(ns), [x(varied.length) + 5, time.at(ns) + 4])),
  ];
}

/** Two parameters as a heat map, more of them on parallel axes. Undefined where one alone was varied. */
export function parameterChart(tried: TriedSettings): Chart | undefined {
  const { kernel, varied, settings } = tried;
  if (varied.length < 2) return undefined;
  const texts = {
    title: `Times of ${kernel} by ${varied.map(({ name }) => name).join(', ')}`,
    description: `${settings.length} settings; the fastest is ${described(settings.at(-1)!)}`,
  };
  if (varied.length > 2) return (size) => chart(size, texts, parallelAxes(tried, size));
  const height = MARGINS.top + MARGINS.bottom + MOST_CELL.height * varied[1]!.values.length;
  return (size) => {
    const whole = { ...size, height: Math.min(size.height, height) };
    return chart(whole, texts, heatMap(tried, whole));
  };
}
