import type { Evaluation, EvaluationRequest, Evaluator } from '../../core/evaluation.ts';
import type { Candidate, Kernel } from '../../core/kernel.ts';
import type { Problem } from '../../core/problem.ts';
import type { EvaluationStatus } from '../../core/status.ts';
import { sha256 } from '../../process/sha256.ts';
import type { RepeatStore } from '../../store/repeats.ts';
import { fromPortable, toPortable } from './portable-evaluation.ts';

/** What decides an evaluation beside its request. */
export interface RepeatContext {
  readonly store: RepeatStore;
  /** SHA-256 of what evaluates: warpsmith, its device and compiler with everything that they depend on. */
  readonly evaluatorDigest: string;
  /** SHA-256 of what the problem's files hold now: reference, data, and whatever they import. */
  readonly problemDigest: (problem: Problem) => string;
  /** Evaluates again, and keeps that instead. */
  readonly isFresh: boolean;
}

/** The order of keys counts: it decides, for one, which stream of random numbers an input is drawn from. */
const keyOf = (value: unknown): string => sha256(JSON.stringify(value));

/** A kernel by its whole content. Its short id would not do: two kernels can be made to share it. */
const kernelContent = ({ file, sources }: Kernel): object => ({ file, sources });

const candidateContent = ({ kernel, parameters }: Candidate): object => ({ ...kernelContent(kernel), parameters });

/**
 * Everything that decides what an evaluation on a virtual device finds, or `undefined` for one that is not made whole. What a
 * virtual device ignores (tier, blocks, profile, sanitizer, baselines) is left out, and so is where files lie.
 */
export function repeatKey(request: EvaluationRequest, context: RepeatContext): string | undefined {
  const {
    problem,
    candidate,
    workload,
    seed,
    thorough = false,
    large = false,
    suites = [],
    quick = false,
    sampleCtas,
    passedBefore,
  } = request;
  if (quick || sampleCtas !== undefined || passedBefore) return undefined;
  return keyOf({
    kind: 'evaluation',
    evaluator: context.evaluatorDigest,
    problem: { file: problem.file, files: context.problemDigest(problem) },
    candidate: candidateContent(candidate),
    workload: { dimensions: workload.dimensions, cache: workload.cache },
    seed,
    thorough,
    large,
    suites,
  });
}

/** What a seed is drawn for. */
export interface SeedSubject {
  readonly problem: Problem;
  /** Everything that could have been written with a seed in mind, in the order it is judged. */
  readonly judged: readonly (Candidate | Kernel)[];
  /** What else the request names: workloads and parameters are chosen after the files were written. */
  readonly asked: unknown;
}

/**
 * Names what a subject was given before: its seed. A seed that was drawn in secret for exactly these files may judge them again: nothing in
 * them can have been written with it in mind. Any change of them gives another name, and so another seed.
 *
 * @param after the seed before it, if any: a confirmation's follows the run's.
 */
export function seedKey(
  { problem, judged, asked }: SeedSubject,
  context: Pick<RepeatContext, 'evaluatorDigest' | 'problemDigest'>,
  after?: number,
): string {
  return keyOf({
    kind: 'seed',
    evaluator: context.evaluatorDigest,
    problem: { file: problem.file, files: context.problemDigest(problem) },
    judged: judged.map((one) => ('kernel' in one ? candidateContent(one) : kernelContent(one))),
    asked,
    after: after ?? null,
  });
}

/**
 * Names what a guided run of a subject knew of earlier runs in a store. It would know more the second time, try other moves
 * first, and be another run.
 */
export const priorsKey = (
  subject: SeedSubject,
  context: Pick<RepeatContext, 'evaluatorDigest' | 'problemDigest'>,
  store: string,
): string => keyOf({ kind: 'priors', of: seedKey(subject, context), store });

/** What a candidate is. Any other status may be the machine's: a time limit, memory, a process that was killed. */
const DETERMINISTIC: ReadonlySet<EvaluationStatus> = new Set(['passed', 'invalid', 'wrong', 'unsafe', 'implausible']);

/** Why a check was left out that another time might be run. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set(['reference-memory', 'reference-timed-out', 'reference-ended']);

const isWorthKeeping = ({ status, coverage }: Evaluation): boolean =>
  DETERMINISTIC.has(status) && !coverage?.leftOut.some(({ code }) => code !== undefined && OF_THE_MACHINE.has(code));

/**
 * Answers from what was found before, where exactly the same was evaluated, and keeps what `evaluator` finds. For virtual
 * devices only: they execute and count the same way each time.
 */
export const createRepeatingEvaluator = (evaluator: Evaluator, context: RepeatContext): Evaluator => ({
  async evaluate(request) {
    const startMs = performance.now();
    request.signal?.throwIfAborted();
    const key = repeatKey(request, context);
    const known = key === undefined || context.isFresh ? undefined : context.store.evaluation(key);
    if (known) {
      const { evaluation, evaluatedAt } = known;
      return repeated(request, fromPortable(evaluation, request), evaluatedAt, performance.now() - startMs);
    }
    const evaluation = await evaluator.evaluate(request);
    const isWhole = key !== undefined && !request.signal?.aborted && isWorthKeeping(evaluation);
    // The problem's files may have changed meanwhile: then nobody knows which of them decided.
    if (isWhole && repeatKey(request, context) === key) {
      context.store.keepEvaluation(key, toPortable(evaluation, request));
    }
    return evaluation;
  },
  estimate: evaluator.estimate,
  prepare: (candidates) => evaluator.prepare?.(candidates),
  close: () => evaluator.close(),
});

/** Names and places are those of the request; what was found is that of the kept one. */
const repeated = (
  { id = 'e0', candidate, workload }: EvaluationRequest,
  evaluation: Evaluation,
  evaluatedAt: string,
  totalMs: number,
): Evaluation => ({
  ...evaluation,
  id,
  candidate: { ...evaluation.candidate, folder: candidate.kernel.folder },
  workload: { name: workload.name, dimensions: workload.dimensions },
  repeated: { evaluatedAt, elapsedMs: evaluation.elapsedMs.total },
  elapsedMs: { compile: 0, verify: 0, time: 0, total: totalMs },
});
