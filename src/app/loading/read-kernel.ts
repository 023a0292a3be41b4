import { join } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import type { KernelFile, KernelSource } from '../../core/kernel.ts';
import { parseKernelFile } from '../../core/schemas/parse-files.ts';
import { liesInside, readUserFile, readUserText, requireFolder } from './read-user-file.ts';

export const KERNEL_FILE = 'kernel.json';

/**
 * The folder's kernel.json as it is written.
 *
 * @throws WarpsmithError for a missing folder or file, or a mistake in kernel.json.
 */
export async function readKernelFile(folder: string): Promise<KernelSource> {
  await requireFolder(folder, `a kernel folder with ${KERNEL_FILE}`);
  const file = join(folder, KERNEL_FILE);
  const text = await readUserText({
    file,
    expected: `a kernel folder with ${KERNEL_FILE}`,
    hint: 'A problem folder (problem.json) is not a kernel folder; kernels are its sub-folders, such as 01_minimal.',
  });
  return parseKernelFile(text, file);
}

/** Text of every listed file by its listed name; base64 for a cubin. */
export async function readSources(
  kernel: Pick<KernelFile, 'source'>,
  folder: string,
  file: string,
): Promise<Record<string, string>> {
  const sources: Record<string, string> = {};
  for (const key of ['files', 'includes'] as const) {
    for (const [index, name] of (kernel.source[key] ?? []).entries()) {
      const source = join(folder, name);
      const place = `as \`source.${key}[${index}]\` in ${file} says`;
      const bytes = await readUserFile({
        file: source,
        expected: `a source file (${place})`,
        hint: 'Correct the name, or add the file to the kernel folder.',
      });
      if (!(await liesInside(source, folder))) throw outsideKernel(file, `source.${key}[${index}]`, name);
      sources[name] = bytes.toString(kernel.source.kind === 'cubin' ? 'base64' : 'utf8');
    }
  }
  return sources;
}

const outsideKernel = (file: string, path: string, received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'file-outside-kernel',
    message: `\`${received}\` is a link to a file outside the kernel's folder.`,
    file,
    path,
    received,
    expected: 'a file inside the kernel folder',
    hint: 'Copy the file into the kernel folder.',
  });
