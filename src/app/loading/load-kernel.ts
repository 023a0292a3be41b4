import { basename, dirname, join, resolve } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel, KernelFile } from '../../core/kernel.ts';
import type { Problem } from '../../core/problem.ts';
import { checkKernelAgainstProblem } from '../../core/schemas/kernel-checks.ts';
import { loadProblem } from './load-problem.ts';
import { KERNEL_FILE, readKernelFile, readSources } from './read-kernel.ts';
import { folderOf, liesInside, readUserFile } from './read-user-file.ts';

/**
 * Loads a kernel folder and the problem that it names. Kernel folders are not trusted: this executes nothing in them, and
 * reads no source outside of them.
 *
 * @param path - the folder, or its kernel.json.
 * @param options.problem - the problem, if it is already loaded from the place that kernel.json names.
 * @throws WarpsmithError for a missing folder or file, a mistake in kernel.json, a source outside the folder.
 */
export const loadKernel = async (
  path: string,
  options: { problem?: Problem } = {},
): Promise<{ kernel: Kernel; problem: Problem }> => {
  const folder = folderOf(path, KERNEL_FILE);
  const kernelFile = await readKernelFile(folder);
  const file = join(folder, KERNEL_FILE);
  const problem = await problemOf(kernelFile, folder, file, options.problem);
  checkKernelAgainstProblem(kernelFile, problem.file, file);
  return { kernel: { folder, file: kernelFile, sources: await readSources(kernelFile, folder, file) }, problem };
};

const problemOf = async (
  kernel: KernelFile,
  folder: string,
  file: string,
  known: Problem | undefined,
): Promise<Problem> => {
  const problemFile = resolve(folder, kernel.problem);
  const problemFolder = dirname(problemFile);
  if (known && resolve(known.folder) === problemFolder) return known;
  const received = kernel.problem;
  const expected = 'the relative path of a problem.json, such as "../problem.json"';
  if (basename(problemFile) !== 'problem.json') {
    throw new WarpsmithError({
      code: 'invalid-value',
      message: `\`problem\` of ${file} does not name a problem.json.`,
      file,
      path: 'problem',
      received,
      expected,
      hint: 'Give the path from the kernel folder to the file, its name included.',
    });
  }
  await readUserFile({
    file: problemFile,
    expected: `${expected} (as \`problem\` in ${file} says)`,
    hint: `Correct \`problem\` in ${file}.`,
  });
  if (await liesInside(problemFile, folder)) {
    throw new WarpsmithError({
      code: 'problem-inside-kernel',
      message: 'A kernel can’t bring the problem that judges it.',
      file,
      path: 'problem',
      received,
      expected: 'a problem.json outside the kernel folder',
      hint: 'Move problem.json and reference.ts to the folder above.',
    });
  }
  return await loadProblem(problemFolder);
};
