import type { ContenderEnergy, EnergyComparison, EnergyVerdict, EnergyWindow } from '../core/energy.ts';
import type { Verdict } from '../core/vocabulary.ts';
import { bootstrapMedian, bootstrapRatio, type Interval } from './bootstrap.ts';
import { median } from './quantile.ts';
import { verdictOf } from './verdict.ts';

/** The same limits and margins as those of times. */
const VERDICT: Readonly<Record<Verdict, EnergyVerdict>> = {
  faster: 'less',
  slower: 'more',
  same: 'equal',
  ambiguous: 'ambiguous',
};

/** As the verdict on times: from the 95 % interval of baseline's joules ÷ candidate's. */
export const energyVerdictOf = (interval: Interval, blockCount: number): EnergyVerdict =>
  VERDICT[verdictOf(interval, blockCount)];

const joulesEach = ({ joules, sequences }: EnergyWindow): number => joules / sequences;

export function summariseEnergy(contender: string, windows: readonly EnergyWindow[], seed: number): ContenderEnergy {
  const each = windows.map(joulesEach);
  return {
    contender,
    joules: median(each),
    intervalJoules: bootstrapMedian(each, seed),
    watts: median(windows.map(({ joules, seconds }) => joules / seconds)),
    windows: [...windows],
  };
}

/** Windows of the same block are divided, so that what a block does to both (temperature, clock) cancels. */
export function compareEnergy(candidate: ContenderEnergy, baseline: ContenderEnergy, seed: number): EnergyComparison {
  const logRatios = baseline.windows.map((window, i) =>
    Math.log(joulesEach(window) / joulesEach(candidate.windows[i]!)),
  );
  const { ratio, intervalRatio } = bootstrapRatio(logRatios, seed);
  return {
    candidate: candidate.contender,
    baseline: baseline.contender,
    verdict: energyVerdictOf(intervalRatio, logRatios.length),
    ratio,
    intervalRatio,
    blockCount: logRatios.length,
  };
}
