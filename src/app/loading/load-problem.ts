import { dirname, join, resolve } from 'node:path';
import type { DType } from '../../core/dtype.ts';
import type { Kernel } from '../../core/kernel.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem, ProblemFile } from '../../core/problem.ts';
import { checkDeviceReference } from '../../core/schemas/device-reference-checks.ts';
import { checkKernelAgainstProblem } from '../../core/schemas/kernel-checks.ts';
import { bindKernelFile, parseProblemFile } from '../../core/schemas/parse-files.ts';
import { hostReference } from '../../evaluation/oracle/reference-process/reference-host.ts';
import { findReference } from './find-reference.ts';
import { KERNEL_FILE, readKernelFile, readSources } from './read-kernel.ts';
import { folderOf, readUserFile, requireFolder } from './read-user-file.ts';
import { hashHostCode, requireTrusted } from './trust.ts';

const PROBLEM_FILE = 'problem.json';

/** Which of a problem's dtypes is meant. */
export interface DTypeChoice {
  readonly dtype?: DType | undefined;
  /** Without `dtype`: the first of the problem's that is among these. */
  readonly among?: readonly DType[] | undefined;
}

/**
 * Problems that this process has loaded, by folder (as given, and resolved) and dtype, with the contents of their files at that
 * time.
 */
const loaded = new Map<string, { readonly contents: string; readonly problem: Problem }>();

/**
 * Loads a problem folder: problem.json, and the place of its reference. It does not run the
 * reference, which starts in its own process when first needed. While its files stay unchanged, a folder is a single
 * problem: its kernels share the reference's process, and the oracle's cached results.
 *
 * @param path - the folder, or its problem.json.
 * @throws WarpsmithError `unknown-dtype`; for a missing folder or file, a mistake in problem.json, or a device reference that does not load.
 */
export async function loadProblem(path: string, { dtype, among }: DTypeChoice = {}): Promise<Problem> {
  const folder = folderOf(path, PROBLEM_FILE);
  await requireFolder(folder, `a problem folder with ${PROBLEM_FILE} and a reference`);
  const file = join(folder, PROBLEM_FILE);
  const text = await readUserFile({
    file,
    expected: `a problem folder with ${PROBLEM_FILE}`,
    hint: 'A kernel folder (kernel.json) is not a problem folder; the problem is usually its parent.',
  });
  let listed: readonly DType[] = [];
  const choose = (dtypes: readonly DType[]): DType | undefined => {
    listed = dtypes;
    return dtype ?? dtypes.find((one) => among?.includes(one)) ?? dtypes[0];
  };
  const problemFile = parseProblemFile(text.toString('utf8'), file, choose);
  const original =
    problemFile.originalKernel === undefined
      ? undefined
      : await loadTrustedKernel(join(folder, problemFile.originalKernel), problemFile);
  const found = original ? undefined : await findReference(folder, problemFile.referenceFile);
  const deviceReference =
    problemFile.deviceReference === undefined
      ? undefined
      : await loadDeviceReference(join(folder, problemFile.deviceReference), problemFile);
  const name = `${resolve(folder)}\n${folder}\n${problemFile.dtype}`;
  const contents = JSON.stringify([
    text.toString('base64'),
    hashHostCode(folder),
    found?.file,
    original,
    deviceReference,
  ]);
  const known = loaded.get(name);
  if (known?.contents === contents) return known.problem;
  const trusted = () => requireTrusted(problemFile.name, folder);
  const problem: Problem = {
    folder,
    file: problemFile,
    ...(listed.length > 0 && { dtypes: listed }),
    // An original runs on a virtual GPU, which no other problem pays for.
    reference: found
      ? hostReference({
          ...{ ...found, problem: problemFile.name, folder: dirname(found.file), beforeStart: trusted },
          shapes: (dimensions) => shapesOf(problemFile, dimensions),
        })
      : (await import('./original-reference.ts')).originalReference(problemFile, original!),
    ...(found && { referenceFile: found.file }),
    requireTrusted: trusted,
    deviceReference,
  };
  loaded.set(name, { contents, problem });
  return problem;
}

const shapesOf = (problem: ProblemFile, dimensions: Dimensions): Record<string, readonly number[]> =>
  Object.fromEntries(expandBuffers(problem, dimensions).map(({ name, shape }) => [name, shape]));

async function loadDeviceReference(folder: string, problem: ProblemFile): Promise<Kernel> {
  const kernel = await loadTrustedKernel(folder, problem);
  checkDeviceReference(kernel.file, problem, join(folder, KERNEL_FILE));
  return kernel;
}

/** A kernel that decides what is right. */
async function loadTrustedKernel(folder: string, problem: ProblemFile): Promise<Kernel> {
  const file = join(folder, KERNEL_FILE);
  const kernelFile = bindKernelFile(await readKernelFile(folder), problem.dtype, file);
  checkKernelAgainstProblem(kernelFile, problem, file);
  return { folder, file: kernelFile, sources: await readSources(kernelFile, folder, file) };
}
