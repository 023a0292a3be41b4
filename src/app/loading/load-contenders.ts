import { dirname, join, resolve } from 'node:path';
import { makeCandidate } from '../../core/candidate.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Problem } from '../../core/problem.ts';
import { parseContendersFile } from '../../core/schemas/parse-files.ts';
import { assignments } from '../../core/values.ts';
import type { Contender } from '../dispatch-row.ts';
import { isKernelFolder, loadKernelOf } from '../target.ts';
import { chooseWorkload } from '../workload.ts';
import { readUserText } from './read-user-file.ts';

/**
 * The kernels with settings that a file lists, each once.
 *
 * @throws WarpsmithError for a missing file or a mistake in it; as `loadKernelOf`, `makeCandidate` and `chooseWorkload`.
 */
export async function loadContenders(file: string, problem: Problem): Promise<Contender[]> {
  const text = await readUserText({
    file,
    expected: 'a file that lists kernels with their settings',
    hint: 'For example { "schemaVersion": 1, "kernels": [{ "kernel": "04_warp", "parameters": { "BLOCK_M": 32 } }] }',
  });
  const listed = parseContendersFile(text, file).kernels;
  const contenders = new Map<string, Contender>();
  for (const [index, { kernel: named, parameters = {}, workloads }] of listed.entries()) {
    const place = `kernels[${index}]`;
    const contender = await atPlace(file, place, async () => {
      const beside = join(dirname(resolve(file)), named);
      const kernel = await loadKernelOf(problem, isKernelFolder(beside) ? beside : join(problem.folder, named));
      const candidate = makeCandidate(kernel, parameters);
      const names = workloads?.map((workload) => chooseWorkload(problem.file, workload).name);
      return { name: kernel.file.name, candidate, workloads: names && new Set(names) };
    });
    const known = contenders.get(contender.candidate.id);
    contenders.set(contender.candidate.id, known ? both(known, contender) : contender);
  }
  return withUniqueNames([...contenders.values()]);
}

/** One that is listed twice is a contender wherever either says. */
const both = (one: Contender, other: Contender): Contender => ({
  ...one,
  workloads: one.workloads && other.workloads && new Set([...one.workloads, ...other.workloads]),
});

/** Two settings of a kernel are told apart by them, two kernels of one name by their ids. */
function withUniqueNames(contenders: readonly Contender[]): Contender[] {
  const settingsOf = ({ candidate }: Contender) => assignments(candidate.parameters).join(', ');
  const longer = renamed(contenders, (contender) => `${contender.name} (${settingsOf(contender)})`);
  return renamed(longer, ({ name, candidate }) => `${name} ${candidate.id}`);
}

const renamed = (contenders: readonly Contender[], nameOf: (contender: Contender) => string): Contender[] =>
  contenders.map((contender) => {
    const isUnique = contenders.filter(({ name }) => name === contender.name).length === 1;
    return isUnique ? contender : { ...contender, name: nameOf(contender) };
  });

/** Says which entry of the file is wrong. */
async function atPlace<T>(file: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WarpsmithError) || error.details.file !== undefined) throw error;
    throw new WarpsmithError({ ...error.details, file: resolve(file), path }, error.exitCode);
  }
}
