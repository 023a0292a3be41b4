import type { EnergyRatio } from '../../core/energy.ts';
import type { RunStartedEvent, Said, WeightedWorkload, WorkloadRatio } from '../../store/events.ts';
import { type Joined, type ProgressionRow, type TimeFigure, timeFigure } from './progression.ts';

/** How the best does on one workload, against the start. */
export interface WorkloadOutcome extends WeightedWorkload {
  start: TimeFigure | null;
  best: TimeFigure | null;
  /** Start's time ÷ best's; measured: as confirmed. */
  ratio: number | null;
  /** Measured only. */
  intervalRatio: readonly [low: number, high: number] | null;
  /** Runs that minimise energy: start's joules ÷ best's, as confirmed. */
  energy?: EnergyRatio;
}

/** A candidate that was reverted because one workload got more than 2 % slower (or needs more energy than that), or did not pass. */
export interface WorkloadVeto extends Pick<WorkloadRatio, 'evaluationId' | 'workload' | 'ratio' | 'energy'> {
  change: string;
}

/** What the run was after: the weighted geometric mean of speed-ups over its workloads, and how it searched. */
export interface Objective {
  /** `guided`, or a strategy of search/. */
  strategy: string;
  /** False: a guided run that was not allowed to look at findings. */
  diagnosis: boolean;
  workloads: WorkloadOutcome[];
  vetoes: WorkloadVeto[];
}

/** The last valid judgement of a candidate on a workload. */
function timeOn(joined: readonly Joined[], candidateId: string | undefined, workload: string): TimeFigure | null {
  const evaluation = joined
    .filter(({ confirmed }) => !confirmed)
    .map(({ finished }) => finished.evaluation)
    .filter(({ candidate, workload: { name } }) => candidate.id === candidateId && name === workload)
    .findLast(({ status }) => status === 'passed');
  return evaluation ? timeFigure(evaluation) : null;
}

const vetoesOf = (rows: readonly ProgressionRow[]): WorkloadVeto[] =>
  rows.flatMap(({ change, perWorkload }) =>
    perWorkload
      .filter(({ vetoes }) => vetoes)
      .map(({ evaluationId, workload, ratio, energy }) => ({
        evaluationId,
        change,
        workload,
        ratio,
        energy,
      })),
  );

interface ObjectiveSource {
  started: RunStartedEvent;
  joined: readonly Joined[];
  rows: readonly ProgressionRow[];
  bestCandidateId: string | undefined;
  confirmation: Said<'confirmation'> | undefined;
}

export function objectiveOf({ started, joined, rows, bestCandidateId, confirmation }: ObjectiveSource): Objective {
  const outcomeOn = (workload: WeightedWorkload): WorkloadOutcome => {
    const start = timeOn(joined, started.start.id, workload.name);
    const best = timeOn(joined, bestCandidateId, workload.name);
    const outcome = { ...workload, start, best, ratio: null, intervalRatio: null };
    if (!start || !best || start.kind !== best.kind) return outcome;
    if (bestCandidateId === started.start.id) return { ...outcome, ratio: 1 };
    if (start.kind === 'predicted') return { ...outcome, ratio: start.medianNs / best.medianNs };
    if (!confirmation || confirmation.outcome === 'refused') return outcome;
    const confirmed =
      confirmation.perWorkload?.find(({ workload: name }) => name === workload.name) ??
      (started.workloads.length === 1 ? confirmation : undefined);
    const times = { ratio: confirmed?.ratio ?? null, intervalRatio: confirmed?.intervalRatio ?? null };
    return { ...outcome, ...times, energy: confirmed?.energy };
  };
  return {
    strategy: started.strategy,
    diagnosis: started.request.diagnosis !== false,
    workloads: started.workloads.map(outcomeOn),
    vetoes: vetoesOf(rows),
  };
}
