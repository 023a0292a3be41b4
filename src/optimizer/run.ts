import type { ArtifactStore } from '../core/artifacts.ts';
import type { DeviceIdentity } from '../core/device.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import type { Evaluation, EvaluationRequest, EvaluationStage, Evaluator } from '../core/evaluation.ts';
import type { Candidate, Kernel } from '../core/kernel.ts';
import type { Problem } from '../core/problem.ts';
import type { Roofline } from '../core/roofline.ts';
import { refusingUnreached, type Unreached } from '../core/unreached.ts';
import { untilAborted } from '../core/until-aborted.ts';
import type { Minimised } from '../core/vocabulary.ts';
import type { Pattern } from '../diagnosis/pattern.ts';
import type {
  Budgets,
  CandidateReference,
  ConfirmationEvent,
  EventSink,
  Goal,
  Priors,
  RecordedEvent,
  RepositoryState,
  RunEvent,
  RunRequest,
  WeightedWorkload,
} from '../store/events.ts';
import type { Author, SharedRun } from './authoring/author.ts';
import type { Budget } from './budget.ts';
import type { TimedEvaluation } from './decision.ts';
import type { VetoBound } from './goal.ts';
import type { History } from './history.ts';
import type { MoveLedger } from './move-ledger.ts';
import type { ProposedMove } from './propose-moves.ts';
import type { Proposer } from './proposers/proposer.ts';
import type { Stop } from './stopping.ts';

/** Everything that a run needs; it reads nothing else. */
export interface OptimizeOptions {
  problem: Problem;
  /** The workloads of the objective, at least one. Candidates are screened on the first. */
  workloads: readonly WeightedWorkload[];
  device: DeviceIdentity;
  spec: DeviceSpec;
  start: Candidate;
  /** Every rung of the problem, in ladder order. */
  rungs: readonly Kernel[];
  evaluator: Evaluator;
  patterns: readonly Pattern[];
  seed: number;
  /** Draws a secret seed for a confirmation; if absent, the previous seed + 1. */
  drawSeed?: (after: number) => number;
  /** `guided` when absent, or a strategy of search/. */
  strategy?: string;
  /** Writes kernels, instead of a strategy that chooses among those there are. */
  author?: Author;
  /** Several write, or one beside those who choose: a bandit shares the moves out. */
  shared?: SharedRun;
  /** What earlier runs realised; nothing when absent. */
  priors?: Priors;
  /** Logged, so that the run can be resumed. */
  request: RunRequest;
  /** What becomes of kernels that were written during the run, if a condition on loaded values went one way in every check. */
  unreached?: Unreached | undefined;
  /** Measured runs: refuse a winner that the sanitizer has not cleared. */
  requireSanitizer?: boolean;
  /** Measured runs: a confirmation also measures the energy of the winner and the start. */
  energy?: boolean | undefined;
  /** What decides; time when absent. Energy is for measured runs. */
  minimised?: Minimised | undefined;
  /** Undo the winner's changes one by one at the end; true by default. */
  ablation?: boolean;
  /** Compile more ahead than the next candidates: what would follow a new best. By default on a GPU whose machine has many cores. */
  preparesMore?: boolean;
  /** Guided runs: continue with a blind strategy if no finding suggests another move; true by default. */
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
  /** Budgets from the end of the history on. */
  extendedBudgets?: Budgets;
  /** Stores a candidate's sources. Returns file → content hash, for the log. */
  storeSources?: (candidate: Candidate) => Readonly<Record<string, string>>;
  /** Measured runs: keeps the PTX of every candidate, the machine code of promising ones, and the profiler's reports. */
  artifacts?: ArtifactStore;
  /** Called for every new best, the start included, so that it is saved at once, and again when it is confirmed. */
  onBest?: (best: Best, confirmation?: ConfirmationEvent) => void;
  environment?: Readonly<Record<string, string>>;
  /** Of the files that the run begins with. */
  repository?: RepositoryState;
  /** For the run's report. */
  roofline?: Roofline;
  signal?: AbortSignal;
  /** Told what is being done of the evaluation at hand; nothing of it is logged. */
  onStage?: (stage: EvaluationStage) => void;
  /** Monotonic clock in milliseconds. */
  clockMs?: () => number;
}

/** The fastest candidate so far; of runs that minimise energy, that which needs the least. */
export interface Best {
  candidate: Candidate;
  /** On the first workload. */
  evaluation: TimedEvaluation;
  /** Workload → evaluation, the first workload's included. */
  evaluations: ReadonlyMap<string, TimedEvaluation>;
  /**
   * Start's time ÷ its time, over all workloads. Measured: the product of the kept ratios, each from its own blocks; only a
   * confirmation measures it directly.
   */
  ratioToStart: number;
  /** Of runs that minimise energy: the same of joules. */
  energyToStart?: number;
}

/** A move that is being judged. Several are, where the evaluator takes several requests at once. */
export interface Trial {
  readonly iteration: number;
  readonly move: ProposedMove;
  /** The latest evaluation of its candidate on each workload. */
  readonly judged: Map<string, Evaluation>;
  /** The best that its latest measurement was made beside. Another may have been kept since. */
  beside: Best;
  /** What is asked of the evaluator now; nothing when the move can be decided on. */
  asked?: Asked;
  /** The evaluator's work on it. Absent while the log of a resumed run may hold the answer. */
  work?: Promise<Landed>;
  /** Evaluations that it may still take, at most. */
  mostLeft: number;
  /** Start's time ÷ the candidate's by its screen, once it is being measured longer. */
  promise?: number;
}

/** A trial with what it does next. */
export interface RunningTrial extends Trial {
  /** Its screen, which is not looked at before a more promising trial is decided on. */
  held?: Landed;
  /** What was measured last is being profiled, or was. */
  isProfiled?: boolean;
  readonly steps: Generator<Asked, void, Evaluation>;
}

/** A trial, and what its latest request gave; undefined if the user interrupted. */
export interface Landed {
  readonly trial: RunningTrial;
  readonly evaluation: Evaluation | undefined;
}

/** Evaluations that the moves being judged may still take, at most. */
export const evaluationsOfTrials = ({ trials }: Run): number =>
  [...trials.values()].reduce((sum, { mostLeft }) => sum + mostLeft, 0);

/** State of one run. `phase` names the next step; each phase is one function. */
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
  /** Moves that are being judged, by iteration. */
  readonly trials: Map<number, RunningTrial>;
  /** The move that was begun or decided on last. */
  move?: ProposedMove;
  /** The latest evaluation of its candidate on each workload, when it was decided on. */
  judged: Map<string, Evaluation>;
  /** Every judgement so far: candidate id → workload → evaluation. */
  readonly judgements: Map<string, Map<string, Evaluation>>;
  readonly advised: Set<string>;
  /** Evaluation ids of bests whose changes have been undone. */
  readonly ablated: Set<string>;
  deviceFailures: number;
  /** Evaluations of the search since the last new best. */
  withoutGain: number;
  /** Whether `extendedBudgets` hold already. */
  isExtended: boolean;
  /** Why nothing more is proposed. The search ends when no move is being judged any more. */
  ending?: Stop;
  stop?: Stop;
}

/** What an evaluation is to measure. */
export type Measuring = Pick<
  EvaluationRequest,
  'tier' | 'against' | 'blocks' | 'profile' | 'sanitize' | 'energy' | 'minimised'
>;

export const reference = (candidate: Candidate): CandidateReference => ({
  id: candidate.id,
  kernel: candidate.kernel.file.name,
  parameters: candidate.parameters,
});

/** Logs an event, unless the log of a resumed run already holds it. */
export function emit(run: Pick<Run, 'history' | 'options'>, event: RunEvent): void {
  if (!run.history.accountsFor(event)) run.options.emit(event);
}

export const isInterrupted = ({ history, options }: Run): boolean =>
  history.isOver && (options.signal?.aborted ?? false);

/** Most candidates are only screened; printing their machine code is not worth the time. */
const keeping = ({ artifacts }: OptimizeOptions, { tier }: Measuring): Pick<EvaluationRequest, 'keep'> =>
  artifacts ? { keep: { store: artifacts, sass: tier === 'accept' } } : {};

/** The request; workload and seed default to the run's first workload and seed. */
export interface Asked {
  readonly candidate: Candidate;
  readonly workload?: WeightedWorkload;
  readonly measuring?: Measuring;
  readonly seed?: number;
  /** Verify it as a winner is. */
  readonly thorough?: boolean;
  /** Whether it was written during the run, and is verified thoroughly. */
  readonly isWritten?: boolean;
}

/** Judges a candidate and logs it. Undefined if the user interrupted. */
export async function evaluateOnce(run: Run, asked: Asked): Promise<Evaluation | undefined> {
  const { budget, history } = run;
  const id = `e${budget.evaluationsUsed + 1}`;
  const evaluation = history.evaluation(id) ?? (await judge(run, id, asked));
  if (!evaluation) return undefined;
  finishEvaluation(run, asked, evaluation, run.iteration);
  return evaluation;
}

/** Counts an evaluation and logs it. */
export function finishEvaluation(run: Run, { candidate, workload }: Asked, evaluation: Evaluation, iteration: number) {
  const { budget, options } = run;
  budget.spend(evaluation);
  note(run, candidate, workload ?? options.workloads[0]!, evaluation);
  const sources = options.storeSources?.(candidate) ?? {};
  emit(run, { type: 'evaluation-finished', iteration, evaluation, sources });
}

/** Asks the evaluator. Undefined if the user interrupted. */
export async function judge(
  { options, budget }: Run,
  id: string,
  { candidate, workload = options.workloads[0]!, measuring = {}, seed, thorough, isWritten }: Asked,
): Promise<Evaluation | undefined> {
  if (options.signal?.aborted) return undefined;
  if (budget.evaluationsLeft === 0) throw new Error('an evaluation beyond the limit');
  const isRefused = isWritten && options.unreached === 'refuse';
  const evaluation = await evaluate(options, {
    ...{ id, candidate, workload, seed, thorough, watched: isRefused },
    ...(options.device.kind === 'cuda' && { ...measuring, ...keeping(options, measuring) }),
  });
  return isRefused && evaluation ? refusingUnreached(evaluation) : evaluation;
}

type OwnRequest = Omit<EvaluationRequest, 'problem' | 'seed' | 'signal' | 'onStage'> & { seed: number | undefined };

/** What the evaluator says; undefined if the user interrupted. */
async function evaluate(options: OptimizeOptions, request: OwnRequest): Promise<Evaluation | undefined> {
  const { problem, signal, onStage } = options;
  const { name, dimensions, cache } = request.workload;
  const workload = { name, dimensions, cache };
  const seed = request.seed ?? options.seed;
  try {
    return await untilAborted(
      options.evaluator.evaluate({ ...request, problem, workload, seed, signal, onStage }),
      signal,
    );
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}

/** Profiles a candidate that passed, without measuring it again. Undefined if the user interrupted. */
export async function profileOf(
  { options }: Run,
  { candidate, workload = options.workloads[0]!, measuring = {}, seed }: Asked,
  { id, correctness, coverage, timing }: Evaluation,
): Promise<Evaluation | undefined> {
  if (options.signal?.aborted) return undefined;
  return evaluate(options, {
    ...{ id, candidate, workload, seed, tier: measuring.tier, profile: 'light', ...keeping(options, measuring) },
    // No samples: only the time decides what findings are worth.
    passedBefore: { correctness: correctness!, coverage: coverage!, timing: { ...timing!, measurement: undefined } },
  });
}

/** A failure of the device says nothing about the candidate. */
function note(run: Run, candidate: Candidate, workload: WeightedWorkload, evaluation: Evaluation): void {
  if (evaluation.status === 'device-failed') return;
  run.ledger.noteEvaluated(candidate.id);
  const known = run.judgements.get(candidate.id) ?? new Map<string, Evaluation>();
  run.judgements.set(candidate.id, known.set(workload.name, inShort(evaluation)));
}

/** Keeps only status and times. The log holds the rest, and hundreds of evaluations would add up in memory. */
function inShort({ counters, profile, diagnostics, timing, ...evaluation }: Evaluation): Evaluation {
  if (!timing) return { ...evaluation, findings: [] };
  const { bounds, launches, measurement, ...times } = timing;
  return { ...evaluation, timing: times, findings: [] };
}
