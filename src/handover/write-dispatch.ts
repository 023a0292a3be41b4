import type { Candidate } from '../core/kernel.ts';
import type { ProblemFile } from '../core/problem.ts';
import { figure } from '../core/values.ts';
import { bakeUnder } from '../store/best-kernel.ts';
import { dispatchHeader } from './dispatch-header.ts';
import type { DispatchTable } from './dispatch-table.ts';
import { fillTemplate } from './fill-template.ts';
import { launchHeader } from './launch-header/launch-header.ts';
import { launchUnit } from './launch-header/launch-unit.ts';
import { nvccFlags } from './readme.ts';
import { requireCudaSource } from './require-cuda-source.ts';

/**
 * The files of a dispatch table: dispatch.json, dispatch.hpp that chooses and launches, a folder with kernel, launch
 * header and unit for each candidate, and how to build them.
 *
 * @param request.candidates - every candidate of the table by its id.
 * @param request.folder - where the files are to lie.
 * @throws WarpsmithError `export-needs-cuda-source` for a kernel that comes compiled.
 */
export function writeDispatch(
  table: DispatchTable,
  request: {
    readonly problem: ProblemFile;
    readonly candidates: ReadonlyMap<string, Candidate>;
    readonly folder: string;
    readonly version: string;
  },
): Readonly<Record<string, string>> {
  const { problem, candidates, folder, version } = request;
  const used = new Map([...table.entries, table.fallback].map((entry) => [entry.folder, entry]));
  const files: Record<string, string> = {
    'dispatch.json': `${JSON.stringify(table, null, 2)}\n`,
    'dispatch.hpp': dispatchHeader(table, problem),
    'README.md': readme(
      table,
      [...used].map(([place, entry]) => ({ folder: place, candidate: candidates.get(entry.candidate.id)! })),
    ),
  };
  for (const [
    place,
    {
      candidate: { id },
      compared,
    },
  ] of used) {
    const candidate = candidates.get(id)!;
    refuseForTable(candidate);
    const comment = [`${candidate.kernel.file.name}, candidate ${id}, of a dispatch table for ${table.problem}.`];
    const baked = bakeUnder(candidate, `${folder}/${place}`, comment);
    for (const [name, text] of Object.entries(baked)) files[`${place}/${name}`] = text;
    const provenance = [
      `${place}_launch.hpp: candidate ${id} of ${candidate.kernel.file.name}. Written by warpsmith ${version}.`,
    ];
    files[`${place}/${place}_launch.hpp`] = launchHeader({ problem, candidate, name: place, compared, provenance });
    files[`${place}/${place}_launch.cu`] = launchUnit(candidate, place);
  }
  return files;
}

const FOR_A_TABLE = {
  because: 'a dispatch table is made of CUDA C++',
  hint: 'Leave the kernel out, or export each winner by itself.',
};

/** @throws WarpsmithError `export-needs-cuda-source` for a kernel that no table can hold. */
export const refuseForTable = (candidate: Candidate): void => requireCudaSource(candidate, FOR_A_TABLE);

const readme = (table: DispatchTable, used: readonly { folder: string; candidate: Candidate }[]): string =>
  fillTemplate('dispatch.md', {
    problem: table.problem,
    device: table.device.name,
    deviceId: table.device.id,
    entries: table.entries.map(({ workload, candidate, kind, medianNs, seed }) => ({
      workload,
      kernel: candidate.kernel,
      candidate: candidate.id,
      time: `${kind} ${figure(medianNs / 1000)} µs`,
      seed,
    })),
    fallback: table.fallback.candidate.kernel,
    fallbackCandidate: table.fallback.candidate.id,
    units: used.map(({ folder, candidate }) => ({ folder, flags: nvccFlags(candidate).join(' ') })),
  });
