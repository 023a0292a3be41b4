import { join } from 'node:path';
import { makeCandidate } from '../core/candidate.ts';
import type { Candidate, ParameterValues } from '../core/kernel.ts';
import { completeParameters } from '../core/plan/parameters.ts';
import { PATTERNS } from '../diagnosis/patterns/index.ts';
import { describeRatio } from '../optimizer/decision.ts';
import { parseGoal, refuseGoalBelowBound } from '../optimizer/goal.ts';
import { type Best, optimize, type RunResult } from '../optimizer/optimize.ts';
import { formatTiming } from '../reports/format.ts';
import type { RunView } from '../reports/run-view.ts';
import { bakeKernel } from '../store/best-kernel.ts';
import type { Budgets, RecordedEvent } from '../store/events.ts';
import { createRunFolder, RUN_FILES, type RunFolder, runId } from '../store/run-folder.ts';
import { vetoBoundFor } from './bounds.ts';
import { writeReport } from './report.ts';
import { openSession, type Session, type SessionOptions } from './session.ts';
import { loadProblemTarget } from './target.ts';
import { type Cache, chooseWorkload } from './workload.ts';

export interface OptimizeRequest extends SessionOptions {
  /** A problem folder, or a kernel folder to start from that kernel. */
  target: string;
  workload?: string;
  /** Instead of the workload's own. */
  cache?: Cache;
  /** Parameter values of the start. */
  parameters: ParameterValues;
  seed: number;
  /** Real GPUs: refuse a winner that the sanitizer has not cleared. */
  requireSanitizer?: boolean;
  budgets: Budgets;
  /** `2x` or `50us`. */
  goal?: string;
  /** Folder that holds `runs/`. */
  store: string;
  signal?: AbortSignal;
  /** Sees every event as it is logged. */
  onEvent?: (event: RecordedEvent) => void;
}

export interface OptimizeOutcome {
  result: RunResult;
  view: RunView;
  runFolder: string;
  reportPath: string;
  /** Folder of the best kernel; absent when not even the start passed. */
  bestFolder?: string;
  /** Its main source file. */
  bestKernelPath?: string;
}

const storeSources = (run: RunFolder, candidate: Candidate): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(candidate.kernel.sources).map(([name, text]) => [name, run.objects.put(text)]));

/** Writes `best/` anew; `startNs` is the start's time, for the header comment. */
function writeBest(run: RunFolder, { candidate, evaluation }: Best, startNs: number): void {
  const ratio = startNs / evaluation.timing.medianNs;
  const result = `${formatTiming(evaluation.timing)}, ${describeRatio(evaluation.timing.kind, ratio)} than the start`;
  const files = bakeKernel(candidate, join(run.path, RUN_FILES.best), {
    runId: run.id,
    evaluationId: evaluation.id,
    deviceName: evaluation.device.name,
    workload: evaluation.workload.name,
    result,
  });
  run.replaceFolder(RUN_FILES.best, files);
}

/**
 * Searches for a faster kernel and writes the run's folder: events, reports and the best kernel, which is on disk from
 * the moment it is the best.
 *
 * @throws WarpsmithError for bad files or options, a goal below the bound, a missing compiler or device, or a store that
 * can't be written.
 */
export async function optimizeProblem(request: OptimizeRequest): Promise<OptimizeOutcome> {
  const goal = request.goal === undefined ? undefined : parseGoal(request.goal);
  const { problem, start: startKernel, rungs } = await loadProblemTarget(request.target);
  const workload = chooseWorkload(problem.file, request.workload, request.cache);
  const start = makeCandidate(startKernel, completeParameters(startKernel.file, request.parameters));
  await using session: Session = await openSession(request);
  const vetoBound = vetoBoundFor(problem.file, workload, session.device.spec);
  if (goal) refuseGoalBelowBound(goal, vetoBound);
  const run = createRunFolder(request.store, runId(new Date(), problem.file.name, workload.name));
  try {
    let startNs: number | undefined;
    const result = await reportingFailures(run, () =>
      optimize({
        problem,
        workload,
        device: session.device.identity,
        spec: session.device.spec,
        start,
        rungs,
        evaluator: session.evaluator,
        patterns: PATTERNS,
        seed: request.seed,
        ...(request.requireSanitizer === undefined ? {} : { requireSanitizer: request.requireSanitizer }),
        budgets: request.budgets,
        vetoBound,
        environment: session.environment,
        emit(event) {
          // Not as the argument of the optional call: it would be logged only when someone listens.
          const recorded = run.log.append(event);
          request.onEvent?.(recorded);
        },
        storeSources: (candidate) => storeSources(run, candidate),
        artifacts: run.objects,
        onBest(best) {
          startNs ??= best.evaluation.timing.medianNs;
          writeBest(run, best, startNs);
        },
        ...(goal ? { goal } : {}),
        ...(request.signal ? { signal: request.signal } : {}),
      }),
    );
    const { view, markdownPath } = writeReport(run);
    return { result, view, runFolder: run.path, reportPath: markdownPath, ...bestPaths(run, result) };
  } finally {
    run.log.close();
  }
}

/** A run that is refused or fails half-way leaves a report of how far it came; the error goes on to the caller. */
async function reportingFailures<T>(run: RunFolder, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    try {
      writeReport(run);
    } catch {
      // Only the first error says what went wrong: a full disk, say, fails both.
    }
    throw error;
  }
}

function bestPaths(run: RunFolder, result: RunResult): { bestFolder?: string; bestKernelPath?: string } {
  if (!result.best) return {};
  const bestFolder = join(run.path, RUN_FILES.best);
  const [mainFile = 'kernel.cu'] = result.best.candidate.kernel.file.source.files;
  return { bestFolder, bestKernelPath: join(bestFolder, mainFile) };
}
