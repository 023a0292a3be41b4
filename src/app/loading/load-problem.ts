import { realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel } from '../../core/kernel.ts';
import type { Problem, ProblemFile, RunReference } from '../../core/problem.ts';
import { checkDeviceReference } from '../../core/schemas/device-reference-checks.ts';
import { checkKernelAgainstProblem } from '../../core/schemas/kernel-checks.ts';
import { parseProblemFile } from '../../core/schemas/parse-files.ts';
import { hostReference } from '../../evaluation/reference-process/reference-host.ts';
import { KERNEL_FILE, readKernelFile, readSources } from './read-kernel.ts';
import { folderOf, readUserFile, requireFolder } from './read-user-file.ts';
import { requireTrusted } from './trust.ts';

const PROBLEM_FILE = 'problem.json';
const REFERENCE_HINT = 'problems/attention/reference.ts is an example.';

/**
 * Loads a problem folder: problem.json, and where the `reference` lies that reference.ts exports. That is a program: it
 * is not run here, but in a process of its own when it is first needed.
 *
 * @param path - the folder, or its problem.json.
 * @throws WarpsmithError for a missing folder or file, a mistake in problem.json, or a device reference that does not load.
 */
export const loadProblem = async (path: string): Promise<Problem> => {
  const folder = folderOf(path, PROBLEM_FILE);
  await requireFolder(folder, `a problem folder with ${PROBLEM_FILE} and reference.ts`);
  const file = join(folder, PROBLEM_FILE);
  const text = await readUserFile({
    file,
    expected: `a problem folder with ${PROBLEM_FILE}`,
    hint: 'A kernel folder (kernel.json) is not a problem folder; the problem is usually its parent.',
  });
  const problemFile = parseProblemFile(text.toString('utf8'), file);
  const { deviceReference } = problemFile;
  return {
    folder,
    file: problemFile,
    reference: await findReference(folder, problemFile),
    requireTrusted: () => requireTrusted(problemFile.name, folder),
    ...(deviceReference !== undefined && {
      deviceReference: await loadDeviceReference(join(folder, deviceReference), problemFile),
    }),
  };
};

const loadDeviceReference = async (folder: string, problem: ProblemFile): Promise<Kernel> => {
  const kernelFile = await readKernelFile(folder);
  const file = join(folder, KERNEL_FILE);
  checkKernelAgainstProblem(kernelFile, problem, file);
  checkDeviceReference(kernelFile, problem, file);
  return { folder, file: kernelFile, sources: await readSources(kernelFile, folder, file) };
};

const findReference = async (folder: string, { name }: ProblemFile): Promise<RunReference> => {
  const file = await referenceFile(folder);
  await readUserFile({ file, expected: 'a module that exports `reference`', hint: REFERENCE_HINT });
  const real = await realpath(file);
  if (dirname(real) !== (await realpath(folder))) throw outsideProblem(file, real);
  const beforeStart = () => requireTrusted(name, folder);
  return hostReference({ problem: name, file: real, folder: dirname(real), beforeStart });
};

/** What lies beside the file that the link names would be imported, and nobody asked about it. */
const outsideProblem = (file: string, received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'file-outside-problem',
    message: `${file} is a link to a file outside the problem's folder.`,
    file,
    received,
    expected: 'a file inside the problem folder',
    hint: 'Copy the file into the problem folder.',
  });

/** Node refuses to strip types under node_modules; there the package brings reference.js, built from reference.ts. */
const referenceFile = async (folder: string): Promise<string> => {
  const installed = (await realpath(folder)).split(sep).includes('node_modules');
  const names = installed ? ['reference.js'] : ['reference.ts', 'reference.js'];
  for (const name of names) {
    const file = join(folder, name);
    if ((await stat(file).catch(() => undefined))?.isFile()) return file;
  }
  return join(folder, names[0]!);
};
