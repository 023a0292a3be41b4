import { type CounterName, type Counters, sharedBytes } from '../../core/counters.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { LaunchTiming } from '../../core/timing.ts';
import { sum } from '../../core/values.ts';
import { formatFigure } from '../format.ts';

type FigureOf = (counters: Counters, modelled: readonly LaunchTiming[]) => number;

const all =
  (...names: readonly CounterName[]): FigureOf =>
  (counters) =>
    sum(names.map((name) => counters[name]));

const largest = (values: readonly number[]): number => Math.max(0, ...values);

/** Figures that tell what a change did. */
const FIGURES: readonly (readonly [name: string, value: FigureOf])[] = [
  ['warp instructions', all('instructions')],
  ['global load requests', all('globalLoadRequests')],
  ['global load sectors', all('globalLoadSectors')],
  ['global store sectors', all('globalStoreSectors')],
  ['shared wavefronts', all('sharedLoadWavefronts', 'sharedStoreWavefronts')],
  ['bank conflicts', all('sharedLoadBankConflicts', 'sharedStoreBankConflicts')],
  ['local memory requests (spills)', all('localLoadRequests', 'localStoreRequests')],
  ['barriers', all('barriers')],
  ['divergent branches', all('divergentBranches')],
  ['atomic requests', all('globalAtomicRequests', 'sharedAtomicRequests')],
  ['fp32 FLOP', ({ flop }) => flop.fp32],
  ['tensor FLOP', ({ flop }) => flop.tensor],
  ['registers per thread', ({ launches }) => largest(launches.map(({ resources }) => resources.registersPerThread))],
  ['shared bytes per CTA', ({ launches }) => largest(launches.map(({ resources }) => sharedBytes(resources)))],
  ['CTAs', ({ launches }) => sum(launches.map(({ ctaCount }) => ctaCount))],
  ['launches', ({ launches }) => launches.length],
  ['warps per SM', (_, modelled) => largest(modelled.map(({ occupancy }) => occupancy.warpsPerSm))],
  ['DRAM bytes (estimate)', (_, modelled) => sum(modelled.map(({ dramBytesEstimate }) => dramBytesEstimate))],
];

const MOST_COUNTERS = 8;
/** Below this change a figure is not worth attention. */
const LEAST_CHANGE = 1.02;

/** Every figure of an evaluation, by its name; undefined where nothing was counted. */
export const countedFigures = ({ counters, timing }: Evaluation): Readonly<Record<string, number>> | undefined =>
  counters && Object.fromEntries(FIGURES.map(([name, value]) => [name, value(counters, timing?.launches ?? [])]));

/** What moved from one evaluation to another, most first: `barriers 12 → 3 (×0.25)`. Nothing where one was not counted. */
export const counterChanges = (from: Evaluation, to: Evaluation): string[] =>
  figureChanges(countedFigures(from) ?? {}, countedFigures(to) ?? {});

/** The same of figures that were kept. One that is missing on a side did not move. */
export function figureChanges(from: Readonly<Record<string, number>>, to: Readonly<Record<string, number>>): string[] {
  const changes = FIGURES.flatMap(([name]) => {
    const [before, after] = [from[name], to[name]];
    if (before === undefined || after === undefined || before === after) return [];
    const factor = before === 0 || after === 0 ? Number.POSITIVE_INFINITY : Math.max(before / after, after / before);
    if (!(factor >= LEAST_CHANGE)) return [];
    const times = Number.isFinite(factor) ? ` (×${formatFigure(after / before)})` : '';
    return [{ factor, text: `${name} ${formatFigure(before)} → ${formatFigure(after)}${times}` }];
  });
  return changes
    .sort((a, b) => b.factor - a.factor)
    .slice(0, MOST_COUNTERS)
    .map(({ text }) => text);
}
