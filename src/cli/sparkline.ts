const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const NONE = '·';

/**
 * A character for each value, the largest highest, on a logarithmic scale; `·` where there is none.
 *
 * @param values positive, or `null`; of more than `width`, the last ones are shown.
 */
export function sparkline(values: readonly (number | null)[], width: number): string {
  const shown = values.slice(-width);
  const logarithms = shown.flatMap((value) => (value === null ? [] : [Math.log(value)]));
  const [low, high] = [Math.min(...logarithms), Math.max(...logarithms)];
  const bar = (value: number): string => {
    const share = high > low ? (Math.log(value) - low) / (high - low) : 0;
    return BARS[Math.round(share * (BARS.length - 1))]!;
  };
  return shown.map((value) => (value === null ? NONE : bar(value))).join('');
}
