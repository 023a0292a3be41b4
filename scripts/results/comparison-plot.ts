import type { Comparison } from '../../src/core/measurement.ts';
import type { Verdict } from '../../src/core/vocabulary.ts';
import { chart, chartFile, dot, frameOf, line, rectangle, text, told, yAxis } from '../../src/reports/charts/chart.ts';
import { linearScale, round } from '../../src/reports/charts/scale.ts';
import { EQUIVALENCE_MARGIN } from '../../src/stats/verdict.ts';

const SIZE = { width: 860, height: 360, id: 'comparisons' };
const MARGINS = { left: 70, right: 20, top: 64, bottom: 50 };
const MOST_LINES = 12;

const VERDICT_COLOURS: Readonly<Record<Verdict, string>> = {
  faster: 'magenta',
  slower: 'blue',
  same: 'teal',
  ambiguous: 'amber',
};

/** How many comparisons got each verdict, most frequent first. */
export function countVerdicts(comparisons: readonly Comparison[]): [Verdict, number][] {
  const counts = new Map<Verdict, number>();
  for (const { verdict } of comparisons) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/**
 * Every comparison's ratio with its 95 % interval, ascending; the margin of ±1 % is shaded, and where the true ratio is
 * known, it is a line. Reads what docs/results/h200-a-a.json and h200-sensitivity.json hold: the types SelfComparisons
 * and KnownRatioComparisons of measuring-recordings.ts, `{ schemaVersion: 1, device, driver, versions, recordedAt,
 * kernel, workload, comparisons: Comparison[], … }`.
 */
export function comparisonPlot(request: {
  title: string;
  comparisons: readonly Comparison[];
  /** Baseline ÷ candidate. */
  trueRatio: number;
}): string {
  const { title, trueRatio } = request;
  const rows = request.comparisons.toSorted((a, b) => a.ratio - b.ratio);
  const margin = [1 / (1 + EQUIVALENCE_MARGIN), 1 + EQUIVALENCE_MARGIN] as const;
  const values = [...rows.flatMap(({ intervalRatio }) => intervalRatio), ...margin, trueRatio];
  const frame = frameOf(SIZE, MARGINS);
  const range = [Math.min(...values) - 0.002, Math.max(...values) + 0.002] as const;
  const y = linearScale(range, [frame.bottom, frame.top], MOST_LINES);
  const marks = rows.map(({ verdict, ratio, intervalRatio: [from, to] }, index) => {
    const colour = VERDICT_COLOURS[verdict];
    const x = round(frame.left + ((frame.right - frame.left) * (index + 0.5)) / rows.length);
    return told(`${verdict}: measured ratio ${ratio.toFixed(4)} [${from.toFixed(4)}, ${to.toFixed(4)}]`, [
      line(`interval thin ${colour}`, [x, y.at(from)], [x, y.at(to)]),
      dot(colour, [x, y.at(ratio)], 1.8),
    ]);
  });
  const counts = countVerdicts(rows);
  return chartFile(
    chart(SIZE, { title, description: counts.map(([verdict, count]) => `${count} ${verdict}`).join(', ') }, [
      text(title, [16, 22], { className: 'title' }),
      ...counts.flatMap(([verdict, count], index) => [
        dot(VERDICT_COLOURS[verdict], [frame.left + index * 130, 44]),
        text(`${count} ${verdict}`, [frame.left + 10 + index * 130, 48]),
      ]),
      rectangle('margin', [frame.left, y.at(margin[1])], [frame.right, y.at(margin[0])]),
      ...yAxis(y, frame, (ratio) => ratio.toFixed(3)),
      line('reference', [frame.left, y.at(trueRatio)], [frame.right, y.at(trueRatio)]),
      ...marks,
      text(
        'measured comparisons, by ratio (baseline ÷ candidate) with its 95 % interval; shaded: ±1 %; dashed: the true ratio',
        [(frame.left + frame.right) / 2, SIZE.height - 14],
        { anchor: 'middle' },
      ),
    ]),
  );
}
