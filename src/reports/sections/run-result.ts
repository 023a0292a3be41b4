import { barChart } from '../charts/bar-chart.ts';
import type { Chart } from '../charts/chart.ts';
import { progressionChart } from '../charts/progression-chart.ts';
import { rooflineChart } from '../charts/roofline-chart.ts';
import { logScale } from '../charts/scale.ts';
import * as doc from '../document.ts';
import {
  formatFigure,
  formatKindAndTime,
  formatNs,
  formatParameters,
  formatRate,
  formatRatio,
  formatRatioInterval,
} from '../format.ts';
import type { RunView } from '../run-view.ts';
import type { WorkloadOutcome } from '../view/objective.ts';
import type { RooflineView } from '../view/roofline.ts';
import { changeLines, diffParts } from './changes.ts';
import { energySection } from './energy.ts';
import { cited, describeConfirmation, evaluationColumns, evaluationLink, kindOf } from './run-words.ts';

/** Sections about the result: how it came about, what each change is worth, how near to the bounds it lies. */

function progression(view: RunView): doc.Section[] {
  const { problem, workload, device, confirmations } = view;
  const kind = kindOf(view);
  // What a narrow terminal leaves out is in the table of all evaluations.
  const columns = evaluationColumns(view).filter((column) => column && (column.drop ?? 0) < 3);
  const data = doc.table('Progression', view.progression, columns);
  const chart = progressionChart(view);
  return doc.section('progression', 'Progression', [
    doc.figure(
      'progression',
      `${kind} time by evaluation of ${problem.name} ${workload.name} on ${device.name}`,
      chart,
      { legend: { tried: 'screened' }, data },
    ),
    !chart && [doc.note('No evaluation has a valid time.'), data],
    doc.titledList('Confirmation', confirmations.map(describeConfirmation)),
  ]);
}

type KnownAblation = RunView['ablation'][number] & { ratio: number };

/** How much slower the best is without each of its changes, or how much more energy it needs. Undefined where no ratio is known. */
function ablationChart(rows: RunView['ablation'], kind: string, loss: string): Chart | undefined {
  const known = rows.filter((row): row is KnownAblation => row.ratio !== null);
  if (known.length === 0) return undefined;
  const values = known.flatMap(({ ratio, intervalRatio }) => [ratio, ...(intervalRatio ?? [])]);
  const range = [Math.min(0.95, ...values) / 1.02, Math.max(1.3, ...values) * 1.02] as const;
  return barChart({
    title: `What each change of the best is worth, ${kind}`,
    axis: `${kind} ${loss} without it, log scale`,
    bars: known.map(({ change, ratio, intervalRatio, evaluationId }) => ({
      label: change,
      value: ratio,
      shown: formatRatio(ratio),
      interval: intervalRatio,
      told: `${intervalRatio ? ` ${formatRatioInterval(intervalRatio)}` : ''}${evaluationId ? ` (${evaluationId})` : ''}`,
      style: ratio < 1 ? 'harms' : undefined,
    })),
    lines: [1],
    scale: (pixels) => logScale(range, pixels, 6),
  });
}

/** Of a run that minimises energy, the ratios of joules in place of those of times. */
const shownRows = ({ ablation: rows, minimisedEnergy }: RunView): RunView['ablation'] =>
  minimisedEnergy
    ? rows.map(({ energy, ...row }) => ({ ...row, ratio: energy?.ratio ?? null, intervalRatio: energy?.intervalRatio }))
    : rows;

function ablation(view: RunView): doc.Section[] {
  const { objective, workload, minimisedEnergy } = view;
  const rows = shownRows(view);
  const what = minimisedEnergy ? 'joules' : 'time';
  const several = objective.workloads.length > 1 ? ` On the first workload, ${workload.name}, alone.` : '';
  return doc.section('ablation', 'What each change of the best is worth', [
    rows.length === 0 && doc.note('No change of the best was undone: there was none, or no budget was left for it.'),
    rows.length > 0 &&
      doc.note(
        `Each line undoes one change of the best and keeps the others: ${what} without the change ÷ ${what} of the best. ` +
          `Changes work on each other, so the ratios don’t multiply to the ${minimisedEnergy ? 'gain' : 'speed-up'}.${several}`,
      ),
    doc.figure(
      'ablation',
      'What each change of the best is worth',
      ablationChart(rows, kindOf(view) ?? '', minimisedEnergy ? 'times the energy' : 'slow-down'),
    ),
    doc.table('What each change is worth', rows, [
      doc.words('Undone', ({ change }) => change),
      doc.names('Evaluation', ({ evaluationId }) => evaluationLink(evaluationId), 1),
      doc.figures('The change gives', ({ ratio }) => formatRatio(ratio)),
      doc.words('95 % interval', ({ intervalRatio }) => formatRatioInterval(intervalRatio)),
      doc.words('Remark', ({ reason }) => reason ?? '', 2),
    ]),
  ]);
}

const changes = ({ changes: made, sources: { startToBest, kept } }: RunView): doc.Section[] =>
  doc.section('changes', 'What the best changed', [
    made ? doc.list(changeLines(made, 'nothing: the start is the best')) : doc.note('There is no best.'),
    startToBest && diffParts([['Start to best', startToBest]]),
    // The only one is the difference from the start.
    (kept.length > 1 || !startToBest) && [
      kept.length > 0 && doc.heading('Kept changes, in order'),
      diffParts(kept.map((diff) => [[evaluationLink(diff.to.evaluationId), ` ${diff.change}`], diff])),
    ],
  ]);

/** Work, roofs and bounds in lines. */
function rooflineLines({
  workload,
  flop,
  minimumFlop,
  minimumReadBytes,
  vetoNs,
  attainableNs,
  ...roofs
}: RooflineView): string[] {
  const roof = ({ flopPerSecond, computeSource, bytesPerSecond, memorySource }: RooflineView['veto']) => {
    const memory =
      bytesPerSecond === null ? 'no bound by memory' : `${formatRate(bytesPerSecond, 'B')} (${memorySource})`;
    return `${formatRate(flopPerSecond, 'FLOP')} (${computeSource}), ${memory}`;
  };
  return [
    `${workload}: ${formatFigure(flop)} FLOP, ${formatFigure(minimumFlop)} of them unavoidable; at least ${formatFigure(minimumReadBytes)} B read`,
    ...(vetoNs > 0 ? [`provable: lower bound ${formatNs(vetoNs)}; roofs ${roof(roofs.veto)}`] : []),
    `attainable: ${formatNs(attainableNs)}; roofs ${roof(roofs.attainable)}`,
  ];
}

const BY_L1 = 'sectors requested, some of which L1 may serve';

function roofline({ roofline: view }: RunView): doc.Section[] {
  if (!view) {
    const why = 'The log does not tell the work and the device’s rates, or the start has no time.';
    return doc.detail('roofline', 'Roofline', [doc.note(why)]);
  }
  const sources = [...new Set(view.points.map(({ bytesSource }) => bytesSource))];
  const aboveRoof = sources.includes(BY_L1) ? ' A point above the sloped roof was served by L1.' : '';
  return doc.detail('roofline', 'Roofline', [
    doc.note(
      `Height is the problem’s FLOP ÷ ${view.kind} time: redundant work does not count as speed. Position is the problem’s FLOP ÷ bytes (${sources.join('; ')}).${aboveRoof}`,
    ),
    doc.figure('roofline', `Roofline of ${view.workload}`, rooflineChart(view), { legend: {} }),
    doc.list(rooflineLines(view)),
  ]);
}

const timeCell = (time: WorkloadOutcome['start']): doc.Inline =>
  time ? cited(formatKindAndTime(time), time.evaluationId) : '–';

const OF_TIMES =
  'The objective is the geometric mean of speed-ups, weighted. A candidate that is more than 2 % slower on any workload is reverted.';
const OF_ENERGIES =
  'The objective is the geometric mean of the joules of the start ÷ the best’s, weighted. A candidate that needs more than 2 % more energy on any workload is reverted.';

function workloads({ objective, minimisedEnergy }: RunView): doc.Section[] {
  const isSeveral = objective.workloads.length > 1;
  const parts = [
    isSeveral && doc.note(minimisedEnergy ? OF_ENERGIES : OF_TIMES),
    doc.table('Workloads', objective.workloads, [
      doc.words('Workload', ({ name, dimensions, cache }) => `${name} (${formatParameters(dimensions)}; ${cache})`),
      doc.figures('Weight', ({ weight }) => weight, 2),
      doc.figures('Start', ({ start }) => timeCell(start), 1),
      doc.figures('Best', ({ best }) => timeCell(best)),
      doc.figures('Best is', ({ ratio }) => formatRatio(ratio)),
      doc.words('95 % interval', ({ intervalRatio }) => formatRatioInterval(intervalRatio), 3),
      minimisedEnergy && doc.figures('Start’s joules ÷ best’s', ({ energy }) => formatRatio(energy?.ratio ?? null)),
      minimisedEnergy && doc.words('Energy interval', ({ energy }) => formatRatioInterval(energy?.intervalRatio), 3),
    ]),
    doc.titledList(
      'Vetoes',
      objective.vetoes.map(({ evaluationId, change, workload, ratio, energy }) => {
        const what = energy ? `the best’s joules ÷ its own are ${formatRatio(energy.ratio)}` : formatRatio(ratio);
        const there = ratio === null ? 'not valid there' : `${what} there`;
        return [cited(change, evaluationId), ` was vetoed by ${workload}: ${there}`];
      }),
    ),
  ];
  return isSeveral ? doc.section('workloads', 'Workloads', parts) : doc.detail('workloads', 'Workload', parts);
}

/** In this order. */
export const RESULT_SECTIONS: readonly ((view: RunView) => doc.Section[])[] = [
  progression,
  ablation,
  changes,
  ({ energy = [] }) => energySection(energy),
  roofline,
  workloads,
];
