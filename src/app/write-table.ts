import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Candidate } from '../core/kernel.ts';
import type { Problem, Workload } from '../core/problem.ts';
import type { DispatchTable } from '../handover/dispatch-table.ts';
import { writeDispatch } from '../handover/write-dispatch.ts';
import { writeFolder } from '../store/write-folder.ts';
import { packageVersion } from './package-version.ts';

/** The files of an earlier dispatch table in the folder, if dispatch.json marks it as one. Kernels lie in subfolders. */
const earlierFiles = (folder: string): string[] =>
  existsSync(join(folder, 'dispatch.json')) ? ['dispatch.json', 'dispatch.hpp', 'README.md'] : [];

export const TABLE_FOLDER = { option: '--output', earlier: earlierFiles } as const;

/** Writes a table and its kernels into a folder, and returns the names of the files. */
export function writeTable(
  table: DispatchTable,
  request: { readonly problem: Problem; readonly candidates: readonly Candidate[]; readonly folder: string },
): string[] {
  const { problem, folder } = request;
  const candidates = new Map(request.candidates.map((candidate) => [candidate.id, candidate]));
  const files = writeDispatch(table, { problem: problem.file, candidates, folder, version: packageVersion() });
  writeFolder(folder, files, TABLE_FOLDER);
  return Object.keys(files);
}

/**
 * Keeps one of the workloads that differ only in their cache state, a hot one if possible. A call gives dimensions and not
 * the state of the cache, so it would never reach a second entry.
 */
export function oneForEachCall<T extends { readonly workload: Workload }>(
  all: readonly T[],
): { kept: T[]; notes: string[] } {
  const chosenOf = ({ workload }: T): T => {
    const twins = all.filter((other) => isDeepStrictEqual(other.workload.dimensions, workload.dimensions));
    return twins.find((twin) => twin.workload.cache === 'hot') ?? twins[0]!;
  };
  return {
    kept: all.filter((one) => chosenOf(one) === one),
    notes: all
      .filter((one) => chosenOf(one) !== one)
      .map((one) => {
        const { workload: taken } = chosenOf(one);
        const { name, cache } = one.workload;
        return `${name} (${cache}) is not in the table: a call of its dimensions goes to ${taken.name} (${taken.cache})`;
      }),
  };
}
