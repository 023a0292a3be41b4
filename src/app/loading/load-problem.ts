import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel } from '../../core/kernel.ts';
import type { Problem, ProblemFile, ReferenceFunction } from '../../core/problem.ts';
import { checkDeviceReference } from '../../core/schemas/device-reference-checks.ts';
import { checkKernelAgainstProblem } from '../../core/schemas/kernel-checks.ts';
import { parseProblemFile } from '../../core/schemas/parse-files.ts';
import { KERNEL_FILE, readKernelFile, readSources } from './read-kernel.ts';
import { folderOf, readUserFile, requireFolder } from './read-user-file.ts';

const PROBLEM_FILE = 'problem.json';
const REFERENCE_HINT = 'problems/attention/reference.ts is an example.';

/**
 * Loads a problem folder: problem.json, and the `reference` that reference.ts exports. Problem folders are trusted
 * code: the reference runs in this process.
 *
 * @param path - the folder, or its problem.json.
 * @throws WarpsmithError for a missing folder or file, a mistake in problem.json, or a reference that does
 * not load, on the host or as a kernel.
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
    reference: await loadReference(folder),
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

const loadReference = async (folder: string): Promise<ReferenceFunction> => {
  const file = await referenceFile(folder);
  const source = await readUserFile({ file, expected: 'a module that exports `reference`', hint: REFERENCE_HINT });
  // The hash makes an edited reference a new module: a stale oracle would judge by old rules.
  const version = createHash('sha256').update(source).digest('hex').slice(0, 16);
  let module: { reference?: unknown };
  try {
    module = await import(/* @vite-ignore */ `${pathToFileURL(file).href}?version=${version}`);
  } catch (error) {
    throw new WarpsmithError({
      code: 'reference-failed',
      message: `${file} can't be loaded: ${error instanceof Error ? error.message : String(error)}`,
      file,
      received: error instanceof Error ? error.name : typeof error,
      expected: 'a module that Node loads as it is: erasable TypeScript only, imports with their extension',
      hint: `Run node ${file} to see the whole error.`,
    });
  }
  if (typeof module.reference === 'function') return module.reference as ReferenceFunction;
  const names = Object.keys(module);
  throw new WarpsmithError({
    code: 'missing-reference',
    message: `${file} does not export a function \`reference\`.`,
    file,
    received: names.length === 0 ? 'no exports' : `exports ${names.join(', ')}`,
    expected: 'export const reference: ReferenceFunction = (inputs, dimensions, round) => …',
    hint: REFERENCE_HINT,
  });
};

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
