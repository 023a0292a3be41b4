import { type Chart, chart, line, rectangle, text, told, whisker } from './chart.ts';
import type { Scale } from './scale.ts';

const MARGINS = { left: 14, right: 14, top: 30, bottom: 10 };
const ROW_HEIGHT = 44;
const BAR = { top: 16, height: 12 };

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** What stands above the bar's end. */
  readonly shown: string;
  readonly interval?: readonly [low: number, high: number] | null;
  /** What is told when pointed at, beside label and value. */
  readonly told?: string;
  /** A style of bars. */
  readonly style?: 'harms' | 'binds';
}

export interface Bars {
  readonly title: string;
  /** What the length of a bar means, with its unit. */
  readonly axis: string;
  readonly bars: readonly Bar[];
  /** Values that a line is drawn at; bars begin at the first of them. */
  readonly lines: readonly [origin: number, ...number[]];
  readonly scale: (pixels: readonly [number, number]) => Scale;
}

/** A bar a row, under its label. */
export function barChart({ title, axis, bars, lines, scale }: Bars): Chart {
  const height = MARGINS.top + bars.length * ROW_HEIGHT + MARGINS.bottom;
  const description = bars.map(({ label, shown }) => `${label}: ${shown}`).join('; ');
  return ({ width, id }) => {
    const { at } = scale([MARGINS.left, width - MARGINS.right]);
    const origin = at(lines[0]);
    const row = ({ label, value, shown, interval, told: more = '', style }: Bar, index: number) => {
      const [left, right] = [Math.min(origin, at(value)), Math.max(origin, at(value))];
      const top = MARGINS.top + index * ROW_HEIGHT;
      const middle = top + BAR.top + BAR.height / 2;
      return told(`${label}: ${shown}${more}`, [
        text(label, [left + 4, top + 10]),
        rectangle(style ? `bar ${style}` : 'bar', [left, top + BAR.top], [right, top + BAR.top + BAR.height]),
        ...(interval ? [whisker([at(interval[0]), middle], [at(interval[1]), middle], 'whisker over')] : []),
        text(shown, [width - MARGINS.right - 6, top + 10], { anchor: 'end', className: 'value' }),
      ]);
    };
    return chart({ width, height, id }, { title, description }, [
      text(axis, [4, 14]),
      ...lines.map((value) => line('axis', [at(value), MARGINS.top - 6], [at(value), height - MARGINS.bottom])),
      ...bars.map(row),
    ]);
  };
}
