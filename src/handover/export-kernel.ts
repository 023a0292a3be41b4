import type { Candidate } from '../core/kernel.ts';
import type { Problem, Workload } from '../core/problem.ts';
import { bakeUnder } from '../store/best-kernel.ts';
import { changePatch, type FolderFiles } from './change-patch.ts';
import { exampleMain } from './example-main.ts';
import { identifierOf } from './launch-header/cpp-names.ts';
import { launchHeader } from './launch-header/launch-header.ts';
import { launchUnit } from './launch-header/launch-unit.ts';
import { exportReadme } from './readme.ts';
import { type Evidence, listedFiles, reproduction } from './reproduction.ts';
import { requireCudaSource } from './require-cuda-source.ts';

const FOR_A_HEADER = {
  because: 'a launch header has to be compiled together with CUDA C++',
  hint: 'Load it with cudaLibraryLoadFromFile and launch it with cudaLaunchKernelEx; `warpsmith check` prints its plan.',
};

export interface ExportRequest {
  readonly problem: Problem;
  /** problem.json and reference.ts, by name. */
  readonly problemFiles: FolderFiles;
  readonly candidate: Candidate;
  readonly start: Candidate;
  /** What the start's folder holds, and what it would hold were it this candidate; absent where it can't be told. */
  readonly change?: { readonly from: FolderFiles; readonly to: FolderFiles };
  /** For example.cu. */
  readonly workload: Workload;
  /** Of the device it was judged on, for the command in README.md. */
  readonly architecture: string;
  readonly evidence: Evidence | null;
  /** Take calls of sizes at which no result was compared, too. */
  readonly unverifiedSizes?: boolean;
  /** The evidence in sentences. */
  readonly sentences: readonly string[];
  readonly version: string;
  /** Namespace and file names; by default from the problem and the kernel. */
  readonly name?: string;
  /** Where the files are to lie. */
  readonly folder: string;
}

export interface ExportedKernel {
  /** Namespace of the launch header, and the beginning of its file's name. */
  readonly name: string;
  /** By path in the folder. */
  readonly files: Readonly<Record<string, string>>;
}

/** The file that marks a folder as an export and lists its files. */
export const REPRODUCTION_FILE = 'reproduce.json';
const PATCH = 'change.patch';

/** `attention_04_warp`. */
const exportName = (problem: string, kernel: string): string => identifierOf(`${problem}_${kernel}`);

/**
 * Everything that hands a candidate over: kernel, launch header, example, patch, and what it takes to judge it again.
 *
 * @throws WarpsmithError `export-needs-cuda-source` for a kernel that comes compiled.
 */
export function exportKernel(request: ExportRequest): ExportedKernel {
  const { problem, candidate, start, change, evidence } = request;
  requireCudaSource(candidate, FOR_A_HEADER);
  const name = request.name ?? exportName(problem.file.name, candidate.kernel.file.name);
  const baked = bakeUnder(candidate, request.folder, [
    `${candidate.kernel.file.name}, candidate ${candidate.id}, as warpsmith exported it.`,
    ...request.sentences,
  ]);
  const reproduce = reproduction({
    version: request.version,
    problem: { name: problem.file.name, files: request.problemFiles },
    candidate,
    start,
    evidence,
  });
  const patch = change && changePatch(change.from, change.to);
  const readme = exportReadme({
    name,
    candidate,
    evidence: request.sentences,
    architecture: request.architecture,
    reproduction: reproduce,
    patchedKernel: patch === undefined ? undefined : start.kernel.file.name,
  });
  const provenance = [
    `${name}_launch.hpp: candidate ${candidate.id} of ${candidate.kernel.file.name}, for ${problem.file.name}. Written by warpsmith ${request.version}.`,
    ...request.sentences,
  ];
  const files: Record<string, string> = {
    ...baked,
    [`${name}_launch.hpp`]: launchHeader({
      ...{ problem: problem.file, candidate, name, provenance },
      compared: request.unverifiedSizes ? undefined : evidence?.compared,
    }),
    [`${name}_launch.cu`]: launchUnit(candidate, name),
    'example.cu': exampleMain(problem.file, request.workload, name),
    ...(patch === undefined ? {} : { [PATCH]: patch }),
    'README.md': readme,
  };
  const listed = { ...reproduce, files: [...Object.keys(files), REPRODUCTION_FILE] };
  return { name, files: { ...files, [REPRODUCTION_FILE]: `${JSON.stringify(listed, null, 2)}\n` } };
}

/** Files of an earlier export by its reproduce.json; none if the text is not one. */
export const filesOfExport = (reproduceJson: string): string[] =>
  listedFiles(reproduceJson, 'reproduction', /[\\/]|^\.\.?$/);
