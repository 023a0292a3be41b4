import type { Evaluation } from '../core/evaluation.ts';
import type { Minimised } from '../core/vocabulary.ts';
import { decideByEnergy } from './by-energy.ts';
import { type Decision, decide, type TimedEvaluation } from './decision.ts';
import type { Best, Measuring, OptimizeOptions } from './run.ts';

/** Whether energies decide, not times. */
export const minimisesEnergy = ({ minimised }: Pick<OptimizeOptions, 'minimised'>): boolean => minimised === 'energy';

/** The decision on one workload, by what the run minimises. */
export const decideBy = (minimised: Minimised | undefined, best: TimedEvaluation, candidate: Evaluation): Decision =>
  minimised === 'energy' ? decideByEnergy(best, candidate) : decide(best, candidate);

/** What a measurement that is to be decided on measures beside times. */
export const measuredToDecide = (
  options: Pick<OptimizeOptions, 'minimised'>,
): Pick<Measuring, 'energy' | 'minimised'> => (minimisesEnergy(options) ? { energy: true, minimised: 'energy' } : {});

/** Best so far ÷ candidate, of what is minimised; `null` if that is not known. */
export const gainOf = (
  minimised: Minimised | undefined,
  { ratio, energy }: Pick<Decision, 'ratio' | 'energy'>,
): number | null => (minimised === 'energy' ? (energy?.ratio ?? null) : ratio);

/** Start ÷ best, of what is minimised. */
export const gainToStart = ({ energyToStart, ratioToStart }: Best): number => energyToStart ?? ratioToStart;
