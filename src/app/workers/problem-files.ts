import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import type { Problem } from '../../core/problem.ts';
import { sortedEntries } from '../../core/values.ts';
import type { Job } from '../../evaluation/pool/job.ts';
import { differingFile, hashProblemFiles } from '../loading/hash-problem-files.ts';
import { KERNEL_FILE } from '../loading/read-kernel.ts';
import { arrayFiles, fileDigest } from '../repeats.ts';

/** Library baselines decide nothing, but are measured beside kernels. */
const BASELINES = 'baseline.py';

/**
 * SHA-256 of every file of a problem's folder that judging its kernels needs, by name: what decides what is right, arrays of inputs,
 * the device reference, library baselines.
 */
export function hashOfFiles(problem: Problem): Job['problem']['files'] {
  const { folder, file, deviceReference } = problem;
  const reference = deviceReference ? [KERNEL_FILE, ...Object.keys(deviceReference.sources)] : [];
  const others = [
    ...arrayFiles(file),
    ...reference.map((name) => relative(folder, join(deviceReference!.folder, name))),
    ...(existsSync(join(folder, BASELINES)) ? [BASELINES] : []),
  ];
  const hashes = { ...hashProblemFiles(folder) };
  for (const name of others) hashes[name] = fileDigest(join(folder, name));
  return Object.fromEntries(sortedEntries(hashes));
}

/** @throws WarpsmithError `problem-changed` if the files are not those that the job is about. */
export function refuseOtherFiles(
  { problem: { name, files } }: Job,
  here: Job['problem']['files'],
  folder: string,
): void {
  const other = differingFile(files, here);
  if (other === undefined) return;
  throw new WarpsmithError({
    code: 'problem-changed',
    message: `${other} of problem ${name} changed while its kernels are judged.`,
    file: join(folder, other),
    received: here[other] ?? 'nothing',
    expected: files[other] ?? 'no file of that name',
    hint: 'Restore it, or start a new run: one run can’t mix results of two versions.',
  });
}
