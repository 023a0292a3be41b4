/** A logarithmic axis: values of `low`…`high` on pixels of `from`…`to`. */
export interface LogScale {
  readonly low: number;
  readonly high: number;
  /** Position of a value, to a tenth of a pixel. */
  at(value: number): number;
  /** Round values on the axis, few enough to be labelled. */
  readonly ticks: readonly number[];
}

/** Steps of a decade, coarser where there are many decades. */
const STEPS: readonly (readonly number[])[] = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3], [1]];

const round = (value: number): number => Math.round(value * 10) / 10;

function ticksWith(steps: readonly number[], low: number, high: number): number[] {
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
function ticksOf(low: number, high: number, most: number): number[] {
  const choices = STEPS.map((steps) => ticksWith(steps, low, high));
  const fitting = choices.find((ticks) => ticks.length <= most) ?? choices.at(-1)!;
  const every = Math.ceil(fitting.length / most);
  return fitting.filter((_, index) => index % every === 0);
}

/** @param low positive. @param high above `low`. */
export function logScale(
  [low, high]: readonly [number, number],
  [from, to]: readonly [number, number],
  mostTicks: number,
): LogScale {
  const span = Math.log(high / low);
  return {
    low,
    high,
    at: (value) => round(from + ((to - from) * Math.log(value / low)) / span),
    ticks: ticksOf(low, high, mostTicks),
  };
}
