import type { ArtifactStore } from '../core/artifacts.ts';
import type { DeviceIdentity } from '../core/device.ts';
import type { DeviceSpec } from '../core/device-spec.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../core/evaluation.ts';
import type { Candidate, Kernel } from '../core/kernel.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { untilAborted } from '../core/until-aborted.ts';
import type { Pattern } from '../diagnosis/pattern.ts';
import type { Budgets, CandidateReference, ConfirmationEvent, EventSink, Goal } from '../store/events.ts';
import type { Budget } from './budget.ts';
import type { TimedEvaluation } from './decision.ts';
import type { VetoBound } from './goal.ts';
import type { MoveLedger } from './move-ledger.ts';
import type { ProposedMove } from './propose-moves.ts';
import type { Stop } from './stopping.ts';

/** Everything a run needs; nothing is looked up elsewhere. */
export interface OptimizeOptions {
  problem: Problem;
  workload: Workload;
  device: DeviceIdentity;
  spec: DeviceSpec;
  start: Candidate;
  /** Every rung of the problem, in ladder order. */
  rungs: readonly Kernel[];
  evaluator: Evaluator;
  patterns: readonly Pattern[];
  seed: number;
  /** Measured runs: refuse a winner that the sanitizer has not cleared. */
  requireSanitizer?: boolean;
  budgets: Budgets;
  goal?: Goal;
  /** Provable lower bound for this workload; goals below it are refused. */
  vetoBound: VetoBound;
  emit: EventSink;
  /** Stores a candidate's sources and returns file → content hash, for the log. */
  storeSources?: (candidate: Candidate) => Readonly<Record<string, string>>;
  /** Measured runs: keeps PTX of every candidate, machine code of those worth it, and the profiler's reports. */
  artifacts?: ArtifactStore;
  /** Called whenever there is a new best, the start included, so that it outlives whatever happens next. */
  onBest?: (best: Best) => void;
  environment?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** Monotonic clock in milliseconds. */
  clockMs?: () => number;
}

/** The fastest candidate so far. */
export interface Best {
  candidate: Candidate;
  evaluation: TimedEvaluation;
}

/** State of one run. `phase` says what happens next; each phase is one function. */
export interface Run {
  readonly options: OptimizeOptions;
  readonly budget: Budget;
  readonly ledger: MoveLedger;
  iteration: number;
  start?: Evaluation;
  best?: Best;
  /** Every best so far, the start first. */
  readonly bests: Best[];
  confirmation?: ConfirmationEvent;
  move?: ProposedMove;
  candidate?: Evaluation;
  readonly advised: Set<string>;
  deviceFailures: number;
  stop?: Stop;
}

/** What an evaluation is to measure. */
type Measuring = Pick<EvaluationRequest, 'tier' | 'against' | 'blocks' | 'profile' | 'sanitize'>;

export const reference = (candidate: Candidate): CandidateReference => ({
  id: candidate.id,
  kernel: candidate.kernel.file.name,
  parameters: candidate.parameters,
});

/** Most candidates are only looked at shortly: their machine code is not worth the time it takes to print. */
const keeping = ({ artifacts }: OptimizeOptions, { tier }: Measuring): Pick<EvaluationRequest, 'keep'> =>
  artifacts ? { keep: { store: artifacts, sass: tier === 'accept' } } : {};

/** Judges a candidate and logs it. Undefined when the user interrupted. */
export async function evaluateOnce(
  run: Run,
  candidate: Candidate,
  measuring: Measuring = {},
  seed = run.options.seed,
): Promise<Evaluation | undefined> {
  const { options, budget } = run;
  if (options.signal?.aborted) return undefined;
  const id = `e${budget.evaluationsUsed + 1}`;
  let evaluation: Evaluation;
  try {
    const work = options.evaluator.evaluate({
      problem: options.problem,
      candidate,
      workload: options.workload,
      seed,
      id,
      ...(options.device.kind === 'cuda' && { ...measuring, ...keeping(options, measuring) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
    evaluation = await untilAborted(work, options.signal);
  } catch (error) {
    if (options.signal?.aborted) return undefined;
    throw error;
  }
  budget.spendEvaluation();
  if (evaluation.status !== 'device-failed') run.ledger.noteEvaluated(candidate.id);
  options.emit({
    type: 'evaluation-finished',
    iteration: run.iteration,
    evaluation,
    sources: options.storeSources?.(candidate) ?? {},
  });
  return evaluation;
}
