import type { Evaluation, EvaluationRequest, Evaluator } from '../core/evaluation.ts';
import type { SanitizerReport } from '../core/profile.ts';
import type { EvaluationStatus } from '../core/status.ts';
import { CONDITIONS, NOT_WATCHED } from '../core/unreached.ts';
import { valuesKey } from '../core/values.ts';

/** What judges on a virtual GPU; a text says why there is none. */
export type OpenWatcher = () => Promise<Evaluator | string>;

/**
 * A real GPU does not show which ways a kernel's conditions go. So a candidate that passes there is verified once more on a virtual GPU
 * with the same spec, if the request says `watched`; or in the usual checks, if racecheck's reports of it are in doubt.
 */
export function createWatchingEvaluator(evaluator: Evaluator, openWatcher: OpenWatcher): Evaluator {
  let watcher: ReturnType<OpenWatcher> | undefined;
  /** By what was asked: measured again, and longer, a candidate need not be watched again. */
  const known = new Map<string, Evaluation>();
  const watch = async (watching: Evaluator, request: EvaluationRequest): Promise<Evaluation> => {
    const key = keyOf(request);
    const seen = known.get(key) ?? (await watching.evaluate(request));
    known.set(key, seen);
    return seen;
  };
  return {
    ...evaluator,
    async evaluate(request) {
      const found = await evaluator.evaluate(request);
      const isDoubted = found.sanitizer?.doubt !== undefined;
      if (found.status !== 'passed' || !(request.watched || isDoubted)) return found;
      const startMs = performance.now();
      watcher ??= openWatcher();
      const watching = await watcher;
      const seen =
        typeof watching === 'string' ? watching : await watch(watching, watchedPart(request, request.watched ?? false));
      const told = request.watched ? withSeen(found, seen) : found;
      return withElapsed(isDoubted ? withRacesSeen(told, seen) : told, performance.now() - startMs);
    },
    async close() {
      await evaluator.close();
      const watching = await watcher;
      if (typeof watching === 'object') await watching.close();
    },
  };
}

const keyOf = ({ problem, candidate, workload, seed, thorough }: EvaluationRequest): string =>
  JSON.stringify([problem.folder, problem.file.name, candidate.id, valuesKey(workload.dimensions), seed, thorough]);

/** Of the workload itself, whose shape may be far too large for a virtual GPU, it runs about so many CTAs. */
export const SAMPLED_CTAS = 32;

/**
 * What a virtual GPU is asked: nothing about times, profiles and baselines, and no shapes as large as users' own, which the GPU ran. Races
 * show in the usual checks, which the sanitizer's are among.
 */
const watchedPart = (
  { problem, candidate, workload, seed, id, signal, onStage }: EvaluationRequest,
  thorough: boolean,
) => ({
  ...{ problem, candidate, workload, seed, id, signal, onStage },
  thorough,
  sampleCtas: SAMPLED_CTAS,
});

/** How a virtual GPU ends if a candidate is wrong whatever it runs on. */
const SHOWN_WRONG: readonly EvaluationStatus[] = ['wrong', 'unsafe'];

/** What passed on a GPU, with what its conditions did on a virtual one; or what the virtual one found wrong. */
function withSeen(found: Evaluation, seen: Evaluation | string): Evaluation {
  if (typeof seen === 'string') return withUnseen(found, { reason: seen });
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

/** What passed on a GPU and racecheck reported, where the race checker of a virtual one followed it through the usual checks; or what that found. */
function withRacesSeen(found: Evaluation, seen: Evaluation | string): Evaluation {
  const { sanitizer } = found;
  if (sanitizer?.doubt === undefined) return found;
  if (typeof seen === 'object' && SHOWN_WRONG.includes(seen.status)) return withSeen(found, seen);
  return { ...found, sanitizer: { ...sanitizer, doubt: { ...sanitizer.doubt, ...racesSeen(seen) } } };
}

function racesSeen(seen: Evaluation | string): Pick<NonNullable<SanitizerReport['doubt']>, 'clearedBy' | 'uncleared'> {
  if (typeof seen === 'string') return { uncleared: seen };
  const { device, status, reason } = seen;
  return passedAllChecks(seen) ? { clearedBy: device.id } : { uncleared: `${device.id} says ${status}: ${reason}` };
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
