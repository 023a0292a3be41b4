import { barChart } from '../charts/bar-chart.ts';
import { linearScale } from '../charts/scale.ts';
import { code, figure, figures, fold, list, names, note, type Section, section, table, words } from '../document.ts';
import { formatFigure, formatNs, formatPercent, formatTime } from '../format.ts';
import type { InspectedAccess } from '../inspect-view.ts';
import type { RunView } from '../run-view.ts';
import type { ResourcesView, ResourceUse } from '../view/resources.ts';
import { evaluationLink } from './run-words.ts';

/** Sections about what limits the kernel: resources against their limits, and the lines of the source that cost most. */

/** Smaller shares are in the table only. */
const LEAST_DRAWN = 0.02;

/** The time model's names in words. */
const RESOURCE_WORDS: Readonly<Record<string, string>> = {
  issue: 'issue slots',
  fp32: 'FP32 pipe',
  fp16: 'FP16 pipe',
  fp64: 'FP64 pipe',
  integer: 'integer pipe',
  conversion: 'conversion pipe',
  special: 'special functions',
  tensor: 'tensor pipe',
  shared: 'shared memory',
  shuffle: 'shuffles',
  lsu: 'load/store unit',
  l1: 'L1',
  l2: 'L2',
  dram: 'DRAM',
  atomics: 'atomics',
  latency: 'latency of one CTA',
  chain: 'chain through CTAs',
  launch: 'launch',
  memset: 'memsets',
};

const wordsFor = (resource: string): string => RESOURCE_WORDS[resource] ?? resource;

/** `counted by ncu 2025.3`, without what follows of limits. */
const inShort = (countedBy: string): string => countedBy.split(/: | \(/)[0]!;

/** Says which figures are measured, counted and predicted. */
function describeResources({ kind, medianNs, countedBy }: ResourcesView): string {
  const time = `The ${kind} time is ${formatTime(kind, medianNs)}; shown is the share of it that each resource needs alone`;
  const predicted = `${time}, 100 % being its limit. Resources overlap, so shares don’t add up.`;
  if (kind === 'predicted') return predicted;
  const counter = countedBy === null ? 'was counted' : `was ${inShort(countedBy)}`;
  return `${predicted} Its work ${counter}; what it needs for it is predicted, by the rates that the time model has for this board.`;
}

const shareOf = (use: ResourceUse | undefined): string => (use ? formatPercent(use.share) : '–');

function resources({ resources: { before, after } }: RunView): Section[] {
  const shown = after ?? before;
  if (!shown) return [];
  const isChanged = before !== null && before.evaluationId !== shown.evaluationId;
  const atStart = new Map((before?.uses ?? []).map((use) => [use.resource, use]));
  const startOf = ({ resource }: ResourceUse): string => shareOf(atStart.get(resource));
  const drawn = shown.uses.filter(({ share }) => share >= LEAST_DRAWN);
  const title = `Resources against their limits: shares of the ${shown.kind} time`;
  const chart = barChart({
    title,
    axis: `share of the ${shown.kind} time; the right line is the limit`,
    bars: drawn.map((use, index) => ({
      label: wordsFor(use.resource),
      value: use.share,
      shown: `${shareOf(use)}${isChanged ? ` (start ${startOf(use)})` : ''}`,
      told: ` = ${formatNs(use.ns)}; ${use.arithmetic}`,
      style: index === 0 ? 'binds' : undefined,
    })),
    lines: [0, 1],
    scale: (pixels) => linearScale([0, Math.max(1, ...drawn.map(({ share }) => share))], pixels, 5),
  });
  const data = table('Resources', shown.uses, [
    names('Resource', ({ resource }) => wordsFor(resource)),
    figures('Alone', ({ ns }) => formatNs(ns)),
    figures(`Of the ${shown.kind} time`, shareOf),
    isChanged && figures('At the start', startOf),
  ]);
  return section('resources', 'Resources against their limits', [
    note([after ? 'The best, ' : 'The start, ', evaluationLink(shown.evaluationId), `. ${describeResources(shown)}`]),
    figure('resources', title, chart, { data }),
    fold('Arithmetic', [
      list(shown.uses.map(({ resource, arithmetic }) => ({ term: wordsFor(resource), text: arithmetic }))),
    ]),
  ]);
}

const percent = (share: number | null): string => (share === null || share === 0 ? '–' : formatPercent(share));

/** `4` of a load alone, `4 / 8` of a load and a store. */
const perRequest = (...accesses: readonly (InspectedAccess | null)[]): string =>
  accesses.flatMap((access) => (access ? formatFigure(access.unitsPerRequest) : [])).join(' / ') || '–';

function hotLines({ hotLines: hot }: RunView): Section[] {
  if (!hot) return [];
  return section('hot-lines', 'The lines that cost most', [
    note([
      'Of ',
      evaluationLink(hot.evaluationId),
      `, ${inShort(hot.countedBy)}. ${formatPercent(hot.attributedShare)} of its warp instructions carry a line of the source. “Moved” is the share of all sectors of global memory and wavefronts of shared memory; figures per request are of loads / stores.`,
    ]),
    table('Hot lines', hot.lines, [
      names('Line', ({ file, line }) => `${file}:${line}`),
      words('Source', ({ text }) => code(text.trim())),
      figures('Issued', ({ instructionShare }) => percent(instructionShare)),
      figures('Moved', ({ transactionShare }) => percent(transactionShare)),
      figures('Lanes', ({ lanesPerInstruction }) => lanesPerInstruction, 3),
      figures('Sectors / request', ({ globalLoad, globalStore }) => perRequest(globalLoad, globalStore), 2),
      figures('Wavefronts / request', ({ sharedLoad, sharedStore }) => perRequest(sharedLoad, sharedStore), 2),
      words('Flags', ({ flags }) => flags.join('; '), 1),
    ]),
  ]);
}

/** In this order. */
export const EVIDENCE_SECTIONS: readonly ((view: RunView) => Section[])[] = [resources, hotLines];
