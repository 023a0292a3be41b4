import { formatRatio, formatRatioInterval } from '../format.ts';
import { type Markup, markup } from '../markup.ts';
import type { AblationRow } from '../view/ablation.ts';
import { type ChartSize, chart, line, text } from './chart.ts';
import { type LogScale, logScale } from './scale.ts';

const MARGINS = { left: 14, right: 64, top: 30, bottom: 10 };
const ROW_HEIGHT = 44;
const BAR_HEIGHT = 12;

type Known = AblationRow & { ratio: number };

const isKnown = (row: AblationRow): row is Known => row.ratio !== null;

function scaleOf(rows: readonly Known[], width: number): LogScale {
  const values = rows.flatMap(({ ratio, intervalRatio }) => [ratio, ...(intervalRatio ?? [])]);
  const range: [number, number] = [Math.min(0.95, ...values) / 1.02, Math.max(1.3, ...values) * 1.02];
  return logScale(range, [MARGINS.left, width - MARGINS.right], 6);
}

function whisker(interval: AblationRow['intervalRatio'], middle: number, { at }: LogScale): Markup | undefined {
  if (!interval) return undefined;
  const [low, high] = [at(interval[0]), at(interval[1])];
  return markup`${line('whisker over', [low, middle], [high, middle])}${line('whisker over', [low, middle - 4], [low, middle + 4])}${line('whisker over', [high, middle - 4], [high, middle + 4])}`;
}

function bar({ change, evaluationId, ratio, intervalRatio }: Known, top: number, scale: LogScale): Markup {
  const [none, end] = [scale.at(1), scale.at(ratio)];
  const middle = top + 16 + BAR_HEIGHT / 2;
  const after = Math.max(none, end, intervalRatio ? scale.at(intervalRatio[1]) : 0) + 6;
  const interval = intervalRatio ? ` ${formatRatioInterval(intervalRatio)}` : '';
  return markup`<g><title>${change}: ${formatRatio(ratio)}${interval}${evaluationId ? ` (${evaluationId})` : ''}</title>
${text(change, [Math.min(none, end) + 4, top + 10])}
<rect class="bar${ratio < 1 ? ' harms' : ''}" x="${Math.min(none, end)}" y="${top + 16}" width="${Math.max(1, Math.abs(end - none))}" height="${BAR_HEIGHT}" rx="2"/>
${whisker(intervalRatio, middle, scale)}${text(formatRatio(ratio), [after, middle + 4], { className: 'value' })}</g>`;
}

/** One bar per change of the best: how much slower it is without. Undefined where no ratio is known. */
export function ablationChart(
  rows: readonly AblationRow[],
  kind: string,
  { width, id }: Omit<ChartSize, 'height'>,
): Markup | undefined {
  const known = rows.filter(isKnown);
  if (known.length === 0) return undefined;
  const scale = scaleOf(known, width);
  const height = MARGINS.top + known.length * ROW_HEIGHT + MARGINS.bottom;
  return chart(
    { width, height, id },
    {
      title: `What each change of the best is worth, ${kind}`,
      description: known.map(({ change, ratio }) => `${change}: ${formatRatio(ratio)}`).join('; '),
    },
    [
      text(`${kind} slow-down without it, log scale`, [4, 14]),
      line('axis', [scale.at(1), MARGINS.top - 6], [scale.at(1), height - MARGINS.bottom]),
      ...known.map((row, index) => bar(row, MARGINS.top + index * ROW_HEIGHT, scale)),
    ],
  );
}
