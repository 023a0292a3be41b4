import {
  chart,
  chartFile,
  dot,
  frameOf,
  line,
  SERIES,
  text,
  told,
  xAxis,
  yAxis,
} from '../../src/reports/charts/chart.ts';
import { logScale } from '../../src/reports/charts/scale.ts';
import { formatNs, formatParameters } from '../../src/reports/format.ts';
import type { Markup } from '../../src/reports/markup.ts';
import type { ModelPair } from './recordings.ts';

const WIDTH = 460;
const PLOT_HEIGHT = 430;
const MARGINS = { left: 78, right: 20, top: 50, bottom: 50 };
const LEGEND_COLUMNS = 4;
const LEGEND_ROW = 20;

export interface ScatterSeries {
  name: string;
  pairs: readonly ModelPair[];
}

/** Measured (x) against predicted (y) times on logarithmic axes; the diagonal is where they are equal. */
export function scatterPlot({ title, series }: { title: string; series: readonly ScatterSeries[] }): string {
  const all = series.flatMap(({ pairs }) => pairs.flatMap(({ measuredNs, intervalNs }) => [measuredNs, ...intervalNs]));
  const range = [Math.min(...all) / 1.1, Math.max(...all) * 1.1] as const;
  const frame = frameOf({ width: WIDTH, height: PLOT_HEIGHT }, MARGINS);
  const x = logScale(range, [frame.left, frame.right], 7);
  const y = logScale(range, [frame.bottom, frame.top], 7);
  const mark = ({ kernel, parameters, measuredNs, predictedNs, intervalNs }: ModelPair, colour: string): Markup => {
    const [low, high] = intervalNs.map(y.at) as [number, number];
    const name = `${kernel} ${formatParameters(parameters)}`.trim();
    return told(`${name}: measured ${formatNs(measuredNs)}, predicted ${formatNs(predictedNs)}`, [
      line(`interval ${colour}`, [x.at(measuredNs), low], [x.at(measuredNs), high]),
      dot(colour, [x.at(measuredNs), y.at(predictedNs)]),
    ]);
  };
  const colourOf = (index: number): string => SERIES[index % SERIES.length]!;
  const legend = series.flatMap(({ name }, index) => {
    const left = MARGINS.left + (index % LEGEND_COLUMNS) * 95;
    const top = PLOT_HEIGHT + Math.floor(index / LEGEND_COLUMNS) * LEGEND_ROW;
    return [dot(colourOf(index), [left, top - 4]), text(name, [left + 8, top])];
  });
  const height = PLOT_HEIGHT + Math.ceil(series.length / LEGEND_COLUMNS) * LEGEND_ROW;
  const description = 'Predicted (vertical, with interval) against measured (horizontal) time, log scales.';
  return chartFile(
    chart({ width: WIDTH, height, id: 'scatter' }, { title, description }, [
      text(title, [16, 22], { className: 'title' }),
      text('predicted (vertical, with interval) against measured (horizontal)', [16, 40]),
      ...xAxis(x, frame, formatNs),
      ...yAxis(y, frame, formatNs),
      line('reference', [frame.left, frame.bottom], [frame.right, frame.top]),
      ...series.flatMap(({ pairs }, index) => pairs.map((pair) => mark(pair, colourOf(index)))),
      ...legend,
    ]),
  );
}
