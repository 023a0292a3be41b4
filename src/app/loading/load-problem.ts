import { realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import type { DType } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel } from '../../core/kernel.ts';
import { checkDeviceReference } from '../../core/plan/device-reference-workspaces.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem, ProblemFile } from '../../core/problem.ts';
import { checkKernelAgainstProblem } from '../../core/schemas/kernel-checks.ts';
import { bindKernelFile, parseProblemFile } from '../../core/schemas/parse-files.ts';
import { nonEmpty } from '../../core/values.ts';
import { nodeProgram } from '../../evaluation/oracle/reference-process/node-program.ts';
import { pythonProgram } from '../../evaluation/oracle/reference-process/python-program.ts';
import { hostReference } from '../../evaluation/oracle/reference-process/reference-host.ts';
import type { ReferenceProgram } from '../../evaluation/oracle/reference-process/reference-program.ts';
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
    dtypes: nonEmpty(listed),
    // An original runs on a virtual GPU, which no other problem pays for.
    reference: found
      ? hostReference({
          ...{ ...found, problem: problemFile.name, folder: dirname(found.file), beforeStart: trusted },
          shapes: (dimensions) => shapesOf(problemFile, dimensions),
        })
      : (await import('./original-reference.ts')).originalReference(problemFile, original!),
    referenceFile: found?.file,
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

/** A problem's reference: which file, and what runs it. */
interface FoundReference {
  /** Absolute, symbolic links resolved. */
  readonly file: string;
  readonly program: ReferenceProgram;
}

const IN_NODE = ['reference.ts', 'reference.js'] as const;
const IN_PYTHON = 'reference.py';

/**
 * The file that problem.json names as `referenceFile`, else the one that is there.
 *
 * @throws WarpsmithError `missing-file`, `two-references`, `file-outside-problem`.
 */
async function findReference(folder: string, named: string | undefined): Promise<FoundReference> {
  const name = named ?? (await onlyReference(folder));
  const file = join(folder, name);
  await readUserFile({
    file,
    expected: 'reference.ts or reference.py, which has a function `reference`',
    hint: 'problems/attention/reference.ts is an example.',
  });
  const real = await realpath(file);
  if (dirname(real) !== (await realpath(folder))) throw outsideProblem(file, real);
  return { file: real, program: name.endsWith('.py') ? pythonProgram : nodeProgram };
}

/** Node refuses to strip types under node_modules. There the package contains reference.js, built from reference.ts. */
async function onlyReference(folder: string): Promise<string> {
  const isInstalled = (await realpath(folder)).split(sep).includes('node_modules');
  const wanted = isInstalled ? IN_NODE.slice(1) : IN_NODE;
  const there = await Promise.all([...wanted, IN_PYTHON].map((name) => isFile(join(folder, name))));
  const inNode = wanted.find((_, i) => there[i]);
  const inPython = there.at(-1) === true;
  if (inNode !== undefined && inPython) throw twoReferences(folder, inNode);
  return inNode ?? (inPython ? IN_PYTHON : wanted[0]!);
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() ?? false;

const twoReferences = (folder: string, name: string): WarpsmithError =>
  new WarpsmithError({
    code: 'two-references',
    message: `${folder} has two references, and problem.json does not say which decides.`,
    file: join(folder, 'problem.json'),
    path: 'referenceFile',
    received: `${name} and ${IN_PYTHON}`,
    expected: `"referenceFile": "${name}" or "referenceFile": "${IN_PYTHON}"`,
    hint: 'Name one of them in problem.json, or remove the other.',
  });

/** A module behind a link would import files beside the link's target, to which nobody has agreed. */
const outsideProblem = (file: string, received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'file-outside-problem',
    message: `${file} is a link to a file outside the problem's folder.`,
    file,
    received,
    expected: 'a file inside the problem folder',
    hint: 'Copy the file into the problem folder.',
  });
