const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const NONE = '·';

/**
 * One character per value on a logarithmic scale; the largest value is the highest. `·` stands for a missing value.
 *
 * @param values positive, or `null`. If there are more than `width`, only the last ones are shown.
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
