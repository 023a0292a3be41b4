import { quantileOfSorted } from '../stats/quantile.ts';
import { bestRankFor, randomSearch } from './random-search.ts';
import type { Outcome } from './strategy.ts';

/** Numbers of evaluations at which the best so far is tabled. */
const CHECKPOINTS = [25, 50, 100, 200] as const;

export interface Spread {
  readonly p10: number | null;
  readonly median: number | null;
  readonly p90: number | null;
}

/** A benchmark of strategies. `null` means not reached. */
export interface BenchedSpace {
  readonly configurations: number;
  /** With a time. */
  readonly valid: number;
  readonly bestNs: number;
  /** Percent above the best time that counts as found. */
  readonly within: number;
  /** Configurations within that. */
  readonly good: number;
  /** Random search, computed exactly. */
  readonly random: {
    readonly meanEvaluations: number;
    readonly medianEvaluations: number;
    readonly p90Evaluations: number;
  };
}

export interface BenchedStrategy {
  readonly strategy: string;
  readonly seeds: number;
  /** Evaluations until a configuration within the percentage was found. */
  readonly evaluations: { readonly median: number | null; readonly p90: number | null };
  /** Share of seeds that found one, 0…1. */
  readonly reached: number;
  /** Best time so far ÷ best time of the space. */
  readonly checkpoints: readonly ({ readonly evaluations: number } & Spread)[];
  /** The same after each evaluation, from the first. */
  readonly curve: readonly Spread[];
}

/** @param within percent. */
export function benchSpace(outcomes: readonly Outcome[], within: number): BenchedSpace {
  const times = outcomes.flatMap((outcome) => (outcome.kind === 'timed' ? [outcome.timeNs] : []));
  const bestNs = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
  const good = times.filter((time) => isWithin(time, bestNs, within)).length;
  const random = randomSearch(outcomes.length, good);
  return {
    configurations: outcomes.length,
    valid: times.length,
    bestNs,
    within,
    good,
    random: {
      meanEvaluations: random.meanEvaluations,
      medianEvaluations: random.evaluationsFor(0.5),
      p90Evaluations: random.evaluationsFor(0.9),
    },
  };
}

const isWithin = (timeNs: number, bestNs: number, within: number): boolean => timeNs <= bestNs * (1 + within / 100);

/**
 * Sums up a strategy's runs of several seeds.
 *
 * @param runs best time after each evaluation, as `replayStrategy` returns it; one that ended early stays where it was.
 */
export function benchStrategy(
  strategy: string,
  runs: readonly (readonly number[])[],
  { bestNs, within }: BenchedSpace,
  evaluations: number,
): BenchedStrategy {
  const needed = runs.map((run) => {
    const place = run.findIndex((timeNs) => isWithin(timeNs, bestNs, within));
    return place < 0 ? Number.POSITIVE_INFINITY : place + 1;
  });
  const curve = Array.from({ length: evaluations }, (_, place) =>
    spread(runs.map((run) => (run[Math.min(place, run.length - 1)] ?? Number.POSITIVE_INFINITY) / bestNs)),
  );
  const { median, p90 } = spread(needed);
  return {
    strategy,
    seeds: runs.length,
    evaluations: { median, p90 },
    reached: needed.filter(Number.isFinite).length / needed.length,
    checkpoints: CHECKPOINTS.filter((count) => count <= evaluations).map((count) => ({
      evaluations: count,
      ...curve[count - 1]!,
    })),
    curve,
  };
}

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (p: number): number | null => {
    const value = quantileOfSorted(sorted, p);
    return Number.isFinite(value) ? value : null;
  };
  return { p10: at(0.1), median: at(0.5), p90: at(0.9) };
}

/** Random search's best so far after each evaluation, computed exactly. */
export function randomCurve(outcomes: readonly Outcome[], evaluations: number): Spread[] {
  const times = outcomes
    .map((outcome) => (outcome.kind === 'failed' ? Number.POSITIVE_INFINITY : outcome.timeNs))
    .sort((a, b) => a - b);
  const ratio = (count: number, probability: number): number | null => {
    const value = times[bestRankFor(times.length, Math.min(count, times.length), probability)]! / times[0]!;
    return Number.isFinite(value) ? value : null;
  };
  return Array.from({ length: evaluations }, (_, place) => ({
    p10: ratio(place + 1, 0.1),
    median: ratio(place + 1, 0.5),
    p90: ratio(place + 1, 0.9),
  }));
}
