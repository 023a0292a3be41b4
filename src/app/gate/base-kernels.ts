import { join, posix } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel } from '../../core/kernel.ts';
import type { Problem } from '../../core/problem.ts';
import { type ChangedFiles, objectsOf } from '../../handover/changed-files.ts';
import { writeTemporaryFiles } from '../../process/temporary-file.ts';
import { loadKernelUnder } from '../loading/load-kernel.ts';

/** A kernel as it was, or why it can't be had. */
export type BaseKernel = { readonly kernel: Kernel } | { readonly missing: string };

/**
 * A kernel folder as the base has it, written into `room` and loaded for the problem as it is now. So nothing of the base decides
 * what is right, and none of its host code runs.
 */
export async function baseKernel(
  { git, atBase }: ChangedFiles,
  path: string,
  problem: Problem,
  room: string,
): Promise<BaseKernel> {
  const own = [...atBase].filter(([file]) => file.startsWith(`${path}/`) || path === '.');
  const contents = await objectsOf(
    git,
    own.map(([, id]) => id),
  );
  const folder = join(room, path);
  writeTemporaryFiles(folder, new Map(own.map(([file], index) => [posix.relative(path, file), contents[index]!])));
  try {
    return { kernel: await loadKernelUnder(folder, problem) };
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    // Paths of the temporary folder say nothing to anybody.
    return { missing: error.message.replaceAll(`${room}/`, '') };
  }
}
