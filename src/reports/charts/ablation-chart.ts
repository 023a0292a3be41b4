import { formatRatio, formatRatioInterval } from '../format.ts';
import type { Markup } from '../markup.ts';
import type { AblationRow } from '../view/ablation.ts';
import { type Chart, chart, line, rectangle, text, told, whisker } from './chart.ts';
import { logScale, type Scale } from './scale.ts';

const MARGINS = { left: 14, right: 64, top: 30, bottom: 10 };
const ROW_HEIGHT = 44;
const BAR = { top: 16, height: 12 };

type Known = AblationRow & { ratio: number };

const isKnown = (row: AblationRow): row is Known => row.ratio !== null;

function scaleOf(rows: readonly Known[], width: number): Scale {
  const values = rows.flatMap(({ ratio, intervalRatio }) => [ratio, ...(intervalRatio ?? [])]);
  const range = [Math.min(0.95, ...values) / 1.02, Math.max(1.3, ...values) * 1.02] as const;
  return logScale(range, [MARGINS.left, width - MARGINS.right], 6);
}

function bar({ change, evaluationId, ratio, intervalRatio }: Known, row: number, { at }: Scale): Markup {
  const [none, end] = [at(1), at(ratio)];
  const [left, right] = [Math.min(none, end), Math.max(none, end)];
  const top = MARGINS.top + row * ROW_HEIGHT;
  const middle = top + BAR.top + BAR.height / 2;
  const after = Math.max(right, intervalRatio ? at(intervalRatio[1]) : 0) + 6;
  const interval = intervalRatio ? ` ${formatRatioInterval(intervalRatio)}` : '';
  return told(`${change}: ${formatRatio(ratio)}${interval}${evaluationId ? ` (${evaluationId})` : ''}`, [
    text(change, [left + 4, top + 10]),
    rectangle(`bar${ratio < 1 ? ' harms' : ''}`, [left, top + BAR.top], [right, top + BAR.top + BAR.height]),
    ...(intervalRatio ? [whisker([at(intervalRatio[0]), middle], [at(intervalRatio[1]), middle], 'whisker over')] : []),
    text(formatRatio(ratio), [after, middle + 4], { className: 'value' }),
  ]);
}

/** One bar per change of the best: how much slower it is without. Undefined where no ratio is known. */
export function ablationChart(rows: readonly AblationRow[], kind: string): Chart | undefined {
  const known = rows.filter(isKnown);
  if (known.length === 0) return undefined;
  const height = MARGINS.top + known.length * ROW_HEIGHT + MARGINS.bottom;
  const texts = {
    title: `What each change of the best is worth, ${kind}`,
    description: known.map(({ change, ratio }) => `${change}: ${formatRatio(ratio)}`).join('; '),
  };
  return ({ width, id }) => {
    const scale = scaleOf(known, width);
    const none = scale.at(1);
    return chart({ width, height, id }, texts, [
      text(`${kind} slow-down without it, log scale`, [4, 14]),
      line('axis', [none, MARGINS.top - 6], [none, height - MARGINS.bottom]),
      ...known.map((row, index) => bar(row, index, scale)),
    ]);
  };
}
