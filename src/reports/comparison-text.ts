import type { BaselineMeasurement, Evaluation } from '../core/evaluation.ts';
import type { Comparison } from '../core/measurement.ts';
import { holm } from '../stats/holm.ts';
import { formatFigure, formatMeasuredNs, formatRatioInterval } from './format.ts';
import { shortKernelNames } from './kernel-names.ts';
import type { Column } from './table.ts';

/** Tables of a candidate against what it was measured beside. */

export const COMPARISON_COLUMNS: readonly Column[] = [
  { title: 'beside' },
  { title: 'this candidate is' },
  { title: 'ratio', align: 'right' },
  { title: '95 % interval' },
  { title: 'blocks', align: 'right' },
  { title: 'Mann–Whitney p', align: 'right' },
  { title: 'p (Holm)', align: 'right' },
  { title: 'Cliff’s δ', align: 'right' },
];

/** One row per comparison; p-values also adjusted for how many there are. */
export function comparisonCells(comparisons: readonly Comparison[]): string[][] {
  const adjusted = holm(comparisons.map(({ mannWhitney }) => mannWhitney.pValue));
  return comparisons.map(({ baseline, verdict, ratio, intervalRatio, blockCount, mannWhitney, cliffsDelta }, index) => [
    baseline,
    verdict,
    `${ratio.toFixed(3)}×`,
    formatRatioInterval(intervalRatio),
    String(blockCount),
    formatFigure(mannWhitney.pValue),
    formatFigure(adjusted[index]!),
    cliffsDelta.toFixed(2),
  ]);
}

export const BASELINE_COLUMNS: readonly Column[] = [
  { title: 'baseline' },
  { title: 'kind' },
  { title: 'measured time', align: 'right' },
  { title: '95 % interval' },
  { title: 'versions' },
  { title: 'GPU kernels' },
];

const describeVersions = (versions: BaselineMeasurement['versions']): string =>
  Object.entries(versions ?? {})
    .map((entry) => entry.join(' '))
    .join(', ') || '–';

export const baselineCells = (baselines: readonly BaselineMeasurement[]): string[][] =>
  baselines.map(({ name, kind, measurement: { summary }, versions, gpuKernels }) => [
    name,
    kind,
    formatMeasuredNs(summary.medianNs),
    `[${summary.intervalNs.map(formatMeasuredNs).join(' … ')}]`,
    describeVersions(versions),
    gpuKernels ? shortKernelNames(gpuKernels) : '–',
  ]);

export const missingBaselineLines = ({ missingBaselines = [] }: Evaluation): string[] =>
  missingBaselines.map(({ name, reason }) => `${name} was not measured: ${reason}`);
