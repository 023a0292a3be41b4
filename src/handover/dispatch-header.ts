import type { ProblemFile } from '../core/problem.ts';
import { figure } from '../core/values.ts';
import type { DispatchTable } from './dispatch-table.ts';
import { fillTemplate, type Values } from './fill-template.ts';
import { commentText, cppNames, identifierOf, stringLiteral } from './launch-header/cpp-names.ts';

/** Distances closer than this are ties, so that the last bit of a math library does not decide. */
const TIE = '1e-9';

/** C++11 that chooses a kernel for a call and launches it. */
export function dispatchHeader(table: DispatchTable, problem: ProblemFile): string {
  const { entries, fallback } = table;
  const folders = [...new Set([...entries.map(({ folder }) => folder), fallback.folder])];
  const targetOf = (label: string, folder: string): Values => ({ label, folder, index: folders.indexOf(folder) });
  const buffers = Object.keys({ ...problem.inputs, ...problem.outputs });
  return fillTemplate('dispatch.hpp', {
    name: `${identifierOf(table.problem)}_dispatch`,
    problem: commentText(table.problem),
    device: commentText(table.device.name),
    deviceId: commentText(table.device.id),
    rows: commentRows(table),
    fallback: fallback.folder,
    // The structs of every kernel have the same members, but are types of their own.
    kernels: folders.map((folder, index) => ({ folder, index })),
    dimensionFields: fieldsOf(Object.keys(problem.dimensions)),
    bufferFields: fieldsOf(buffers),
    sizeFields: [...fieldsOf(buffers, ['workspace_bytes']), 'workspace_bytes'],
    entries: entryValues(table, problem, folders),
    entryCount: entries.length,
    tie: TIE,
    workloads: ['fallback', ...entries.map(({ workload }) => workload)].map(stringLiteral).join(', '),
    targets: [
      ...entries.map(({ folder }, entry) => targetOf(`case ${entry}`, folder)),
      targetOf('default', fallback.folder),
    ],
  });
}

function fieldsOf(names: readonly string[], taken: readonly string[] = []): string[] {
  const given = cppNames(taken);
  return names.map((name) => given.of(name));
}

function commentRows({ entries, fallback }: DispatchTable): string[] {
  const width = Math.max(8, ...entries.map(({ workload }) => commentText(workload).length));
  const row = (workload: string, rest: string): string =>
    `${commentText(workload).padEnd(width)}  ${commentText(rest)}`;
  return [
    ...entries.map(({ workload, candidate, kind, medianNs }) =>
      row(workload, `${candidate.kernel} (${candidate.id}), ${kind} ${figure(medianNs / 1000)} us`),
    ),
    row('fallback', `${fallback.candidate.kernel} (${fallback.candidate.id})`),
  ];
}

function entryValues(table: DispatchTable, problem: ProblemFile, folders: readonly string[]): Values[] {
  const names = cppNames();
  const declared = Object.entries(problem.dimensions).map(([name, declaration]) => ({
    name,
    field: names.of(name),
    isCategorical: declaration.values !== undefined,
  }));
  return table.entries.map(({ dimensions, folder, workload }, entry) => {
    const same = declared
      .filter(({ isCategorical }) => isCategorical)
      .map(({ name, field }) => `dimensions.${field} == ${dimensions[name]}`);
    const distances = declared
      .filter(({ isCategorical }) => !isCategorical)
      .map(({ name, field }) => `distance(static_cast<double>(dimensions.${field}), ${dimensions[name]}.0)`);
    return {
      entry,
      workload: commentText(workload),
      isCategorical: same.length > 0,
      same: same.join(' && '),
      distance: distances.length === 0 ? '0' : distances.join(' + '),
      folder,
      index: folders.indexOf(folder),
    };
  });
}
