import { basename, dirname, join, resolve } from 'node:path';
import type { DType } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel, KernelSource } from '../../core/kernel.ts';
import type { Problem } from '../../core/problem.ts';
import { checkKernelAgainstProblem } from '../../core/schemas/kernel-checks.ts';
import { bindKernelFile } from '../../core/schemas/parse-files.ts';
import { fillConstants } from './fill-constants.ts';
import { loadProblem } from './load-problem.ts';
import { KERNEL_FILE, readKernelFile, readSources } from './read-kernel.ts';
import { folderOf, liesInside, readUserFile } from './read-user-file.ts';

/**
 * Loads a kernel folder and the problem that it names. Kernel folders are not trusted: this executes nothing in them, and
 * reads no source outside of them.
 *
 * @param path - the folder, or its kernel.json.
 * @param options.problem - the problem, if it is already loaded from the place that kernel.json names.
 * @param options.dtype - of a problem with several; else the first of them that the kernel computes in.
 * @throws WarpsmithError for a missing folder or file, a mistake in kernel.json, a source outside the folder.
 */
export async function loadKernel(
  path: string,
  options: { problem?: Problem; dtype?: DType | undefined } = {},
): Promise<{ kernel: Kernel; problem: Problem }> {
  const folder = folderOf(path, KERNEL_FILE);
  const source = await readKernelFile(folder);
  const file = join(folder, KERNEL_FILE);
  const problem = await problemOf(source, folder, file, options);
  return { kernel: await kernelUnder(source, folder, problem), problem };
}

/**
 * Loads a kernel folder for a problem, whichever one its kernel.json names: what a kernel was at another commit is judged by the
 * problem as it is now.
 *
 * @throws WarpsmithError as {@link loadKernel}; also if the kernel does not fit the problem.
 */
export async function loadKernelUnder(path: string, problem: Problem): Promise<Kernel> {
  const folder = folderOf(path, KERNEL_FILE);
  return kernelUnder(await readKernelFile(folder), folder, problem);
}

async function kernelUnder(source: KernelSource, folder: string, problem: Problem): Promise<Kernel> {
  const file = join(folder, KERNEL_FILE);
  if (source.dtype !== undefined && source.dtype !== problem.file.dtype) throw otherDType(source, problem, file);
  const kernelFile = bindKernelFile(source, problem.file.dtype, file);
  const read = { file: kernelFile, sources: await readSources(kernelFile, folder, file) };
  const kernel = fillConstants(read, problem.file, file);
  checkKernelAgainstProblem(kernel.file, problem.file, file);
  return { folder, ...kernel };
}

/** What warpsmith wrote for one dtype, asked for another. */
const otherDType = ({ dtype, name }: KernelSource, { file: { dtype: asked } }: Problem, file: string): WarpsmithError =>
  new WarpsmithError({
    code: 'unknown-dtype',
    message: `${name} was written for ${dtype}.`,
    file,
    path: 'dtype',
    received: asked ?? 'a problem without dtypes',
    expected: `--dtype ${dtype}`,
    hint: 'The rung that it was made of may take other dtypes.',
  });

async function problemOf(
  kernel: KernelSource,
  folder: string,
  file: string,
  { problem: known, dtype = kernel.dtype }: { problem?: Problem; dtype?: DType | undefined },
): Promise<Problem> {
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
  return await loadProblem(problemFolder, { dtype, among: kernel.dtypes });
}
