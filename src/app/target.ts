import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { DType } from '../core/dtype.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Kernel } from '../core/kernel.ts';
import type { Problem } from '../core/problem.ts';
import { findHeaderFolder } from '../toolchains/header-pack.ts';
import { loadKernel } from './loading/load-kernel.ts';
import { loadProblem } from './loading/load-problem.ts';

/** The meaning of a path or name on the command line. */
interface Target {
  readonly kind: 'kernel' | 'problem';
  readonly folder: string;
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** Whether a path is that of a kernel folder. */
export const isKernelFolder = (folder: string): boolean => isFile(join(folder, 'kernel.json'));

/** The problems that came with warpsmith. */
const bundledFolder = (): string => join(dirname(findHeaderFolder()), 'problems');

/** `softmax` and `softmax/03_online` name bundled folders, unless the user has a folder of that name. */
function folderOf(text: string): string {
  const bundled = join(bundledFolder(), text);
  return !existsSync(text) && /^\w[\w-]*(?:\/\w[\w-]*)?$/.test(text) && existsSync(bundled) ? bundled : text;
}

/**
 * Finds the folder that a text names. Its file tells whether it is a kernel or a problem.
 *
 * @throws WarpsmithError `no-such-folder` or `not-a-target`.
 */
export function findTarget(text: string): Target {
  const folder = folderOf(text);
  const named = basename(folder);
  if (named === 'kernel.json' || isKernelFolder(folder)) return { kind: 'kernel', folder };
  if (named === 'problem.json' || isFile(join(folder, 'problem.json'))) return { kind: 'problem', folder };
  const missing = !existsSync(folder);
  throw new WarpsmithError({
    code: missing ? 'no-such-folder' : 'not-a-target',
    message: missing ? `There is no folder ${folder}.` : `${folder} holds neither kernel.json nor problem.json.`,
    file: resolve(folder),
    received: folder,
    expected: 'a folder with kernel.json (a kernel) or problem.json (a problem)',
    hint: `Bundled problems go by their names: ${bundledProblems().join(', ')}.`,
  });
}

const bundledProblems = (): string[] =>
  readdirSync(bundledFolder()).filter((name) => isFile(join(bundledFolder(), name, 'problem.json')));

/** Names of the bundled problems and of their kernels, such as `softmax` and `softmax/03_online`. */
export const bundledNames = (): string[] =>
  bundledProblems().flatMap((problem) => {
    const folder = join(bundledFolder(), problem);
    const kernels = readdirSync(folder).filter((name) => isKernelFolder(join(folder, name)));
    return [problem, ...kernels.sort().map((kernel) => `${problem}/${kernel}`)];
  });

/** A kernel with its problem. A problem folder means its start kernel. */
export async function loadKernelTarget(text: string, dtype?: DType): Promise<{ kernel: Kernel; problem: Problem }> {
  const { kind, folder } = findTarget(text);
  if (kind === 'kernel') return loadKernel(folder, { dtype });
  const problem = await loadProblem(folder, { dtype });
  return loadKernel(join(problem.folder, problem.file.start), { problem });
}

/**
 * A kernel to measure beside others of the problem.
 *
 * @throws WarpsmithError `kernel-of-another-problem`; as `loadKernel`.
 */
export async function loadKernelOf(problem: Problem, folder: string): Promise<Kernel> {
  const loaded = await loadKernel(folder, { problem });
  if (loaded.problem === problem) return loaded.kernel;
  throw new WarpsmithError({
    code: 'kernel-of-another-problem',
    message: `${folder} solves another problem.`,
    file: join(loaded.kernel.folder, 'kernel.json'),
    path: 'problem',
    received: loaded.problem.folder,
    expected: problem.folder,
    hint: 'Only kernels of one problem can be measured beside each other.',
  });
}

/** The kernel that a search of the problem starts from. */
export const loadStart = async (problem: Problem): Promise<Kernel> =>
  (await loadKernel(join(problem.folder, problem.file.start), { problem })).kernel;

/** Every rung of a problem, in ladder order. */
export async function loadRungs(problem: Problem): Promise<readonly Kernel[]> {
  const rungs: Kernel[] = [];
  for (const rung of problem.file.rungs) rungs.push(await loadKernelOf(problem, join(problem.folder, rung)));
  return rungs;
}

/** A problem with its start kernel and every rung. A kernel folder means its problem, started from that kernel. */
export async function loadProblemTarget(
  text: string,
  dtype?: DType,
): Promise<{ folder: string; problem: Problem; start: Kernel; rungs: readonly Kernel[] }> {
  const { kind, folder } = findTarget(text);
  const named = kind === 'kernel' ? await loadKernel(folder, { dtype }) : undefined;
  const problem = named?.problem ?? (await loadProblem(folder, { dtype }));
  const rungs = await loadRungs(problem);
  const start = named?.kernel ?? (await loadStart(problem));
  return { folder, problem, start, rungs };
}
