import { type EnergyRatio, measuredEnergy } from '../../core/energy.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import { isAccepted, type RunStartedEvent, type Said } from '../../store/events.ts';

/** Joules of one launch sequence, with the evaluation that they were measured in. */
export interface EnergyFigure {
  evaluationId: string;
  joules: number;
  intervalJoules: readonly [low: number, high: number];
}

/** What came of a run that minimises energy. */
export interface MinimisedEnergy {
  /** On the run's first workload. */
  start: EnergyFigure | null;
  best: EnergyFigure | null;
  /** Start's joules ÷ best's, as the confirmation measured them; 1 if the start is the best, `null` without a confirmation. */
  ratio: number | null;
  intervalRatio: readonly [low: number, high: number] | null;
}

/** A candidate's energy beside the best's of the time. */
export interface RowEnergy extends Pick<EnergyFigure, 'joules'> {
  /** Best's joules ÷ the candidate's; absent where nothing was compared. */
  compared?: EnergyRatio;
}

/** The candidate's own energy, if it was measured. */
export function energyFigure(evaluation: Evaluation | undefined): EnergyFigure | null {
  const own = measuredEnergy(evaluation?.energy)?.contenders[0];
  if (!evaluation || !own) return null;
  return { evaluationId: evaluation.id, joules: own.joules, intervalJoules: own.intervalJoules };
}

/** Undefined of a run that minimises time. */
export function minimisedEnergy(
  { minimised }: RunStartedEvent,
  start: Evaluation | undefined,
  best: Evaluation | undefined,
  confirmation: Said<'confirmation'> | undefined,
): MinimisedEnergy | undefined {
  if (minimised !== 'energy') return undefined;
  const figures = { start: energyFigure(start), best: energyFigure(best) };
  if (best && best.id === start?.id) return { ...figures, ratio: 1, intervalRatio: null };
  const confirmed = best && isAccepted(confirmation, best.candidate) ? confirmation.energy : undefined;
  return { ...figures, ratio: confirmed?.ratio ?? null, intervalRatio: confirmed?.intervalRatio ?? null };
}
