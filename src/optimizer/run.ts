import type { ArtifactStore } from '../core/artifacts.ts';
import type { DeviceIdentity } from '../core/device.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import type { Evaluation, EvaluationRequest, EvaluationStage, Evaluator } from '../core/evaluation.ts';
import type { Candidate, Kernel } from '../core/kernel.ts';
import type { Problem } from '../core/problem.ts';
import type { Roofline } from '../core/roofline.ts';
import { untilAborted } from '../core/until-aborted.ts';
import type { Pattern } from '../diagnosis/pattern.ts';
import type {
  Budgets,
  CandidateReference,
  ConfirmationEvent,
  EventSink,
  Goal,
  Priors,
  RecordedEvent,
  RunEvent,
  RunRequest,
  WeightedWorkload,
} from '../store/events.ts';
import type { Budget } from './budget.ts';
import type { TimedEvaluation } from './decision.ts';
import type { VetoBound } from './goal.ts';
import type { History } from './history.ts';
import type { MoveLedger } from './move-ledger.ts';
import type { ProposedMove } from './propose-moves.ts';
import type { Proposer } from './proposers/proposer.ts';
import type { Stop } from './stopping.ts';

/** Everything a run needs; nothing is looked up elsewhere. */
export interface OptimizeOptions {
  problem: Problem;
  /** What the objective is about, at least one; candidates are screened on the first. */
  workloads: readonly WeightedWorkload[];
  device: DeviceIdentity;
  spec: DeviceSpec;
  start: Candidate;
  /** Every rung of the problem, in ladder order. */
  rungs: readonly Kernel[];
  evaluator: Evaluator;
  patterns: readonly Pattern[];
  seed: number;
  /** Draws a confirmation's seed, which nobody can know; the one after the last when absent. */
  drawSeed?: (after: number) => number;
  /** `guided` when absent, or a strategy of search/. */
  strategy?: string;
  /** What earlier runs realised; nothing when absent. */
  priors?: Priors;
  /** Logged, so that the run can be resumed. */
  request: RunRequest;
  /** Measured runs: refuse a winner that the sanitizer has not cleared. */
  requireSanitizer?: boolean;
  /** Undo the winner's changes one by one in the end; true when absent. */
  ablation?: boolean;
  /** Guided runs: where no finding suggests anything more, a strategy of search/ goes on; true when absent. */
  exploring?: boolean;
  budgets: Budgets;
  goal?: Goal;
  /** Evaluations of the search in a row without a new best, after which it ends; no end when absent. */
  patience?: number;
  /** Provable lower bound of the objective's time; goals below it are refused. */
  vetoBound: VetoBound;
  emit: EventSink;
  /** The log of this run so far, without `run-finished`, when it is resumed. */
  history?: readonly RecordedEvent[];
  /** Budgets of the run from where its history ends. */
  extendedBudgets?: Budgets;
  /** Stores a candidate's sources and returns file → content hash, for the log. */
  storeSources?: (candidate: Candidate) => Readonly<Record<string, string>>;
  /** Measured runs: keeps PTX of every candidate, machine code of those worth it, and the profiler's reports. */
  artifacts?: ArtifactStore;
  /** Called whenever there is a new best, the start included, so that it outlives whatever happens next, and when it is confirmed. */
  onBest?: (best: Best, confirmation?: ConfirmationEvent) => void;
  environment?: Readonly<Record<string, string>>;
  /** For the run's report. */
  roofline?: Roofline;
  signal?: AbortSignal;
  /** Told what is being done of the evaluation at hand; nothing of it is logged. */
  onStage?: (stage: EvaluationStage) => void;
  /** Monotonic clock in milliseconds. */
  clockMs?: () => number;
}

/** The fastest candidate so far. */
export interface Best {
  candidate: Candidate;
  /** On the first workload. */
  evaluation: TimedEvaluation;
  /** Workload → evaluation, the first workload's included. */
  evaluations: ReadonlyMap<string, TimedEvaluation>;
  /**
   * Start's time ÷ its time, over all workloads. Measured: the product of the ratios that were kept, each from one set
   * of blocks; only a confirmation says it in one.
   */
  ratioToStart: number;
}

/** State of one run. `phase` says what happens next; each phase is one function. */
export interface Run {
  readonly options: OptimizeOptions;
  readonly budget: Budget;
  readonly ledger: MoveLedger;
  readonly proposer: Proposer<Run>;
  readonly history: History;
  iteration: number;
  /** The start on the first workload. */
  start?: Evaluation;
  best?: Best;
  /** Every best so far, the start first. */
  readonly bests: Best[];
  confirmation?: ConfirmationEvent;
  /** Of the last confirmation, if any. */
  confirmationSeed?: number;
  move?: ProposedMove;
  /** What is known of the move's candidate: workload → evaluation, the last one of each. */
  judged: Map<string, Evaluation>;
  /** Every judgement so far: candidate id → workload → evaluation. */
  readonly judgements: Map<string, Map<string, Evaluation>>;
  readonly advised: Set<string>;
  /** Bests whose changes have been undone, by evaluation id. */
  readonly ablated: Set<string>;
  deviceFailures: number;
  /** Evaluations of the search since the last new best. */
  withoutGain: number;
  /** Whether `extendedBudgets` hold already. */
  isExtended: boolean;
  stop?: Stop;
}

/** What an evaluation is to measure. */
export type Measuring = Pick<EvaluationRequest, 'tier' | 'against' | 'blocks' | 'profile' | 'sanitize'>;

export const reference = (candidate: Candidate): CandidateReference => ({
  id: candidate.id,
  kernel: candidate.kernel.file.name,
  parameters: candidate.parameters,
});

/** Logs what happened, unless the log of a resumed run holds it already. */
export function emit(run: Pick<Run, 'history' | 'options'>, event: RunEvent): void {
  if (!run.history.accountsFor(event)) run.options.emit(event);
}

export const isInterrupted = ({ history, options }: Run): boolean =>
  history.isOver && (options.signal?.aborted ?? false);

/** Most candidates are only looked at shortly: their machine code is not worth the time it takes to print. */
const keeping = ({ artifacts }: OptimizeOptions, { tier }: Measuring): Pick<EvaluationRequest, 'keep'> =>
  artifacts ? { keep: { store: artifacts, sass: tier === 'accept' } } : {};

/** What is evaluated; the first workload and the run's seed where nothing else is said. */
interface Asked {
  readonly candidate: Candidate;
  readonly workload?: WeightedWorkload;
  readonly measuring?: Measuring;
  readonly seed?: number;
  /** Verify it as a winner is. */
  readonly thorough?: boolean;
}

/** Judges a candidate and logs it. Undefined when the user interrupted. */
export async function evaluateOnce(run: Run, asked: Asked): Promise<Evaluation | undefined> {
  const { budget, history, options } = run;
  const workload = asked.workload ?? options.workloads[0]!;
  const id = `e${budget.evaluationsUsed + 1}`;
  if (history.isOver && budget.evaluationsLeft === 0) throw new Error('an evaluation beyond the limit');
  const evaluation = history.evaluation(id) ?? (await judge(run, id, { ...asked, workload }));
  if (!evaluation) return undefined;
  budget.spend(evaluation);
  note(run, asked.candidate, workload, evaluation);
  emit(run, {
    type: 'evaluation-finished',
    iteration: run.iteration,
    evaluation,
    sources: options.storeSources?.(asked.candidate) ?? {},
  });
  return evaluation;
}

async function judge(
  { options }: Run,
  id: string,
  { candidate, workload, measuring = {}, seed, thorough }: Asked & { workload: WeightedWorkload },
): Promise<Evaluation | undefined> {
  const { signal } = options;
  if (signal?.aborted) return undefined;
  try {
    const { name, dimensions, cache } = workload;
    const work = options.evaluator.evaluate({
      problem: options.problem,
      candidate,
      workload: { name, dimensions, cache },
      seed: seed ?? options.seed,
      thorough,
      id,
      ...(options.device.kind === 'cuda' && { ...measuring, ...keeping(options, measuring) }),
      signal,
      onStage: options.onStage,
    });
    return await untilAborted(work, signal);
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}

/** A failure of the device says nothing about the candidate. */
function note(run: Run, candidate: Candidate, workload: WeightedWorkload, evaluation: Evaluation): void {
  if (evaluation.status === 'device-failed') return;
  run.ledger.noteEvaluated(candidate.id);
  const known = run.judgements.get(candidate.id) ?? new Map<string, Evaluation>();
  run.judgements.set(candidate.id, known.set(workload.name, inShort(evaluation)));
}

/** Its status and times: the rest is in the log, and hundreds of them would add up. */
function inShort({ counters, profile, diagnostics, timing, ...evaluation }: Evaluation): Evaluation {
  if (!timing) return { ...evaluation, findings: [] };
  const { bounds, launches, measurement, ...times } = timing;
  return { ...evaluation, timing: times, findings: [] };
}
