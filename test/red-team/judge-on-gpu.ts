import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../src/core/evaluation.ts';
import type { KernelFile } from '../../src/core/kernel.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import type { Problem } from '../../src/core/problem.ts';
import { expectedOf, RED_TEAM, type Stage, type Verdict } from './expected.ts';
import type { HonestCandidate } from './honest.ts';

/** Wall-clock limit of one run; the endless ones take it all. */
export const RUN_TIMEOUT_SECONDS = 5;

/** Where honest candidates are measured. */
export const HONEST_WORKLOAD = 'b1h8s512d64';

/** A red-team kernel as it was judged on a real GPU. */
export interface Judged {
  readonly expected: Verdict;
  readonly evaluation: Evaluation;
  /** The stage that saw through the kernel, if one did. */
  readonly stage: Stage | undefined;
  /** What is not as it must be; empty when all is. */
  readonly disagreements: readonly string[];
}

/** Problems by the path that kernel.json names; an evaluator knows the checks of one object again. */
const problems = new Map<string, Problem>();

/** What it takes to evaluate a candidate, e.g. to prepare some ahead. */
export const requestFor = async (
  { folder, parameters }: Pick<HonestCandidate, 'folder' | 'parameters'>,
  { workload, ...options }: { workload: string; seed: number; sanitize?: boolean },
): Promise<EvaluationRequest> => {
  const file = JSON.parse(readFileSync(path.join(folder, 'kernel.json'), 'utf8')) as KernelFile;
  const place = path.resolve(folder, file.problem);
  const known = problems.get(place);
  const { kernel, problem } = await loadKernel(folder, known ? { problem: known } : {});
  problems.set(place, problem);
  const candidate = makeCandidate(kernel, parameters);
  return { problem, candidate, workload: resolveWorkload(problem.file, workload), ...options };
};

/** How the reason begins when a virtual GPU refuses what passed on a real one. */
const BY_VIRTUAL_GPU = /^on virtual:/;

export const stageOf = ({
  status,
  reason,
  elapsedMs,
  sanitizer,
}: Pick<Evaluation, 'status' | 'reason' | 'elapsedMs' | 'sanitizer'>): Stage | undefined => {
  if (status === 'passed') return sanitizer?.outcome === 'errors' ? 'sanitizer' : undefined;
  if (BY_VIRTUAL_GPU.test(reason ?? '')) return 'virtual GPU';
  if (elapsedMs.verify === 0) return 'compilation';
  return elapsedMs.time > 0 ? 'measurement' : 'verification';
};

/** How the evaluation differs from what must be said of the kernel. */
export const disagreementsWith = (
  { statuses, caughtBy, reason }: Verdict,
  evaluation: Pick<Evaluation, 'status' | 'reason' | 'elapsedMs' | 'sanitizer'>,
): string[] => {
  const { status } = evaluation;
  const stage = stageOf(evaluation);
  return [
    !statuses.includes(status) && `it is ${status}, not ${statuses.join(' or ')}`,
    !caughtBy.includes(stage ?? 'nothing') && `caught by ${stage ?? 'nothing'}, not ${caughtBy.join(' or ')}`,
    status !== 'passed' && !reason.test(evaluation.reason ?? '') && `the reason does not match ${reason}`,
  ].filter((text) => text !== false);
};

/** Judges a kernel of the red team; with the sanitizer where only that may see the lie. */
export const judgeRedTeamKernel = async (evaluator: Evaluator, name: string): Promise<Judged> => {
  const expected = expectedOf(name, 'cuda');
  const sanitize = expected.caughtBy.includes('sanitizer');
  const kernel = { folder: path.join(RED_TEAM, name), parameters: {} };
  const request = await requestFor(kernel, { workload: expected.workload, seed: 1, sanitize });
  const { thorough } = expected;
  const evaluation = await evaluator.evaluate({ ...request, thorough, large: thorough, watched: thorough });
  return {
    expected,
    evaluation,
    stage: stageOf(evaluation),
    disagreements: disagreementsWith(expected, evaluation),
  };
};
