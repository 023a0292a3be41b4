import { join } from 'node:path';
import { makeCandidate } from '../core/candidate.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import type { EvaluationRequest } from '../core/evaluation.ts';
import type { Kernel } from '../core/kernel.ts';
import type { Problem, Workload } from '../core/problem.ts';
import type { Session } from './session.ts';
import { isKernelFolder, loadKernelOf } from './target.ts';

/** Stands for every library baseline of the problem. */
const ALL = 'all';
/** Name of the problem's start kernel as a baseline. */
const START = 'start';

type Beside = Required<Pick<EvaluationRequest, 'against' | 'libraryBaselines'>>;

/**
 * Resolves the names of baselines. A name is `start`, a rung of the problem, a kernel folder, or a library baseline of the
 * problem's baseline.py; `all` means every library baseline.
 *
 * @throws WarpsmithError `baselines-need-a-gpu` if times are predicted; `no-baselines` for `all` without a library; as
 * `loadKernelOf`.
 */
export async function resolveBaselines(
  names: readonly string[],
  { session, problem, workload }: { session: Session; problem: Problem; workload: Workload },
): Promise<Beside> {
  if (names.length === 0) return { against: [], libraryBaselines: [] };
  if (session.device.identity.kind === 'virtual') throw needsGpu(names, session.device.identity.id);
  const against: Beside['against'][number][] = [];
  const libraries: string[] = [];
  for (const name of new Set(names)) {
    const kernel = await kernelNamed(name, problem);
    if (kernel) against.push({ name, candidate: makeCandidate(kernel, {}) });
    else if (name === ALL) libraries.push(...(await everyLibrary(session, problem, workload)));
    else libraries.push(name);
  }
  return { against, libraryBaselines: [...new Set(libraries)] };
}

async function kernelNamed(name: string, problem: Problem): Promise<Kernel | undefined> {
  const { start, rungs } = problem.file;
  if (name === START) return loadKernelOf(problem, join(problem.folder, start));
  if (rungs.includes(name)) return loadKernelOf(problem, join(problem.folder, name));
  return isKernelFolder(name) ? loadKernelOf(problem, name) : undefined;
}

async function everyLibrary(session: Session, problem: Problem, workload: Workload): Promise<readonly string[]> {
  const { libraryBaselines: listFor } = session;
  const names = (await listFor?.(problem, workload)) ?? [];
  if (names.length > 0) return names;
  throw new WarpsmithError({
    code: 'no-baselines',
    message: `Problem ${problem.file.name} has no library baselines here.`,
    file: problem.folder,
    path: '--baseline',
    received: ALL,
    expected: 'a baseline.py beside problem.json, and a session that can run it',
    hint: 'Name kernels to compare with instead: start, a rung, or a kernel folder.',
  });
}

const needsGpu = (names: readonly string[], deviceId: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'baselines-need-a-gpu',
      message: `Baselines are measured beside a kernel, and ${deviceId} measures nothing: it predicts.`,
      path: '--baseline',
      received: names.join(', '),
      expected: 'a real GPU',
      hint: 'Use --device cuda:0, or evaluate each kernel on this device and compare the predictions.',
    },
    EXIT.deviceOrToolMissing,
  );
