import type { Evaluation, EvaluationRequest, Evaluator } from '../core/evaluation.ts';
import type { EvaluationStatus } from '../core/status.ts';
import { CONDITIONS, NOT_WATCHED } from '../core/unreached.ts';
import { valuesKey } from '../core/values.ts';

/** What judges on a virtual GPU; a text says why there is none. */
export type OpenWatcher = () => Promise<Evaluator | string>;

/**
 * A real GPU does not show which ways a kernel's conditions go. So a candidate that passes there is verified once more on a virtual GPU
 * with the same spec, if the request says `watched`.
 */
export function createWatchingEvaluator(evaluator: Evaluator, openWatcher: OpenWatcher): Evaluator {
  let watcher: ReturnType<OpenWatcher> | undefined;
  /** By what was asked: measured again, and longer, a candidate need not be watched again. */
  const known = new Map<string, Evaluation>();
  const watch = async (watching: Evaluator, request: EvaluationRequest): Promise<Evaluation> => {
    const key = keyOf(request);
    const seen = known.get(key) ?? (await watching.evaluate(watchedPart(request)));
    known.set(key, seen);
    return seen;
  };
  return {
    ...evaluator,
    async evaluate(request) {
      const found = await evaluator.evaluate(request);
      if (!request.watched || found.status !== 'passed') return found;
      const startMs = performance.now();
      watcher ??= openWatcher();
      const watching = await watcher;
      if (typeof watching === 'string') return withUnseen(found, { reason: watching });
      const seen = await watch(watching, request);
      return withElapsed(withSeen(found, seen), performance.now() - startMs);
    },
    async close() {
      await evaluator.close();
      const watching = await watcher;
      if (typeof watching === 'object') await watching.close();
    },
  };
}

const keyOf = ({ problem, candidate, workload, seed }: EvaluationRequest): string =>
  JSON.stringify([problem.folder, problem.file.name, candidate.id, valuesKey(workload.dimensions), seed]);

/** Of the workload itself, whose shape may be far too large for a virtual GPU, it runs about so many CTAs. */
export const SAMPLED_CTAS = 32;

/** What a virtual GPU is asked: nothing about times, profiles and baselines, and no shapes as large as users' own, which the GPU ran. */
const watchedPart = ({ problem, candidate, workload, seed, id, signal, onStage }: EvaluationRequest) => ({
  ...{ problem, candidate, workload, seed, id, signal, onStage },
  thorough: true,
  sampleCtas: SAMPLED_CTAS,
});

/** How a virtual GPU ends if a candidate is wrong whatever it runs on. */
const SHOWN_WRONG: readonly EvaluationStatus[] = ['wrong', 'unsafe'];

/** What passed on a GPU, with what its conditions did on a virtual one; or what the virtual one found wrong. */
function withSeen(found: Evaluation, seen: Evaluation): Evaluation {
  const { status, reason, failedCheck, fault, writer, correctness } = seen;
  const on = seen.device.id;
  if (SHOWN_WRONG.includes(status)) {
    const { timing, comparisons, baselines, ...rest } = found;
    return {
      ...rest,
      status,
      reason: `on ${on}, which judged it, too: ${reason}`,
      failedCheck,
      fault,
      writer,
      correctness,
    };
  }
  const conditions = passedAllChecks(seen) && seen.coverage?.conditions;
  if (!conditions) return withUnseen(found, { reason: `${on} says ${status}: ${reason}`, code: NOT_WATCHED });
  return { ...found, coverage: { ...found.coverage!, conditions: { ...conditions, seenOn: on } } };
}

/** How a verification ends that passed all checks beside a sample of the workload's CTAs; a launch may lack what CTAs left out, or take too long. */
const BESIDE_SAMPLE: readonly EvaluationStatus[] = ['passed', 'unverified', 'unsupported', 'timed-out'];

/** Whether all checks passed, if the sample of the workload's CTAs is left aside: conditions are told only then. */
export const passedAllChecks = ({ status, coverage }: Evaluation): boolean =>
  coverage?.conditions !== undefined && BESIDE_SAMPLE.includes(status);

const withUnseen = (found: Evaluation, why: { reason: string; code?: string }): Evaluation => ({
  ...found,
  coverage: { ...found.coverage!, leftOut: [...found.coverage!.leftOut, { check: CONDITIONS, ...why }] },
});

function withElapsed(evaluation: Evaluation, watchedMs: number): Evaluation {
  const { elapsedMs } = evaluation;
  const { verify, total } = elapsedMs;
  return { ...evaluation, elapsedMs: { ...elapsedMs, verify: verify + watchedMs, total: total + watchedMs } };
}
