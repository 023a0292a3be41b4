/** An axis: values of `low`…`high` on pixels. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  /** Position of a value, to a tenth of a pixel. */
  at(value: number): number;
  /** Round values on the axis, few enough to be labelled. */
  readonly ticks: readonly number[];
}

type Range = readonly [low: number, high: number];

/** To a tenth of a pixel. */
export const round = (value: number): number => Math.round(value * 10) / 10;

/** Steps of a decade, coarser where there are many decades. */
const STEPS: readonly (readonly number[])[] = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]];

function ticksWith(steps: readonly number[], [low, high]: Range): number[] {
  const found: number[] = [];
  for (let exponent = Math.floor(Math.log10(low)); 10 ** exponent <= high; exponent += 1) {
    for (const step of steps) {
      const value = Number(`${step}e${exponent}`);
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found;
}

/** The finest ticks that are no more than `most`. */
function logTicks(range: Range, most: number): number[] {
  const choices = STEPS.map((steps) => ticksWith(steps, range));
  const fitting = choices.find((ticks) => ticks.length <= most) ?? choices.at(-1)!;
  const every = Math.ceil(fitting.length / most);
  return fitting.filter((_, index) => index % every === 0);
}

/** Logarithmic. @param range both positive, the second larger. */
export function logScale([low, high]: Range, [from, to]: Range, mostTicks: number): Scale {
  const span = Math.log(high / low);
  const at = (value: number): number => round(from + ((to - from) * Math.log(value / low)) / span);
  return { low, high, at, ticks: logTicks([low, high], mostTicks) };
}

/** @param range the second larger. */
export function linearScale([low, high]: Range, [from, to]: Range, mostTicks: number): Scale {
  const decade = 10 ** Math.floor(Math.log10((high - low) / mostTicks));
  const step = [1, 2, 5, 10].map((one) => one * decade).find((one) => (high - low) / one <= mostTicks) ?? high - low;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  return {
    low,
    high,
    at: (value) => round(from + ((to - from) * (value - low)) / (high - low || 1)),
    ticks: Array.from({ length: count }, (_, index) => Number(((first + index) * step).toPrecision(12))),
  };
}
