import { isAbsolute, join, relative } from 'node:path';
import type { Candidate, KernelFile } from '../core/kernel.ts';

/** Origin of a best kernel, for its header comment. */
export interface Provenance {
  runId: string;
  evaluationId: string;
  /** e.g. `NVIDIA L4 (virtual)`. */
  deviceName: string;
  workload: string;
  /** e.g. `predicted 870 µs, predicted 3.3× faster than the start`. */
  result: string;
}

const posix = (path: string): string => path.replaceAll('\\', '/');

/**
 * A reason may come from a compiler and have several lines. A backslash at the end of a line would comment out the next
 * one.
 */
const asComment = (text: string): string[] =>
  text.split(/[\r\n\u2028\u2029]+/).map((line) => `// ${line.replace(/\\+\s*$/, '')}`.trimEnd());

/**
 * `#define`s of all parameters and of the macros among the flags, such as the problem's dtype. A later `-D` with the same value
 * is an identical redefinition, which C++ allows.
 */
function header(candidate: Candidate, lines: readonly string[]): string {
  const comment = lines.flatMap(asComment);
  const defines = [...Object.entries(candidate.parameters), ...macrosOf(candidate)];
  if (defines.length > 0) comment.push('// Parameters, baked in:');
  return `${[...comment, ...defines.map(([name, value]) => `#define ${name} ${value}`)].join('\n')}\n\n`;
}

function macrosOf({ kernel }: Candidate): [name: string, value: string][] {
  return (kernel.file.source.flags ?? []).flatMap((flag) => {
    const [, name, value = '1'] = /^-D(\w+)(?:=(.*))?$/.exec(flag) ?? [];
    return name === undefined ? [] : [[name, value]];
  });
}

const CUDA_SOURCE = /\.(cu|cuh|h|hpp|cpp)$/;

/** Paths in kernel.json are relative to its folder; this rebases one on another folder. */
function rebase(path: string, fromFolder: string, toFolder: string): string {
  if (/^[a-z]+:\/\//.test(path) || isAbsolute(path)) return path;
  const moved = posix(relative(toFolder, join(fromFolder, path)));
  return moved.startsWith('.') ? moved : `./${moved}`;
}

function bakedFile(candidate: Candidate, bestFolder: string): KernelFile {
  const { file, folder } = candidate.kernel;
  const parameters = Object.fromEntries(
    Object.entries(file.parameters ?? {}).map(([name, declaration]) => {
      const value = candidate.parameters[name] ?? declaration.default;
      return [name, { ...declaration, values: [value], default: value }];
    }),
  );
  return {
    ...file,
    $schema: file.$schema === undefined ? undefined : rebase(file.$schema, folder, bestFolder),
    problem: rebase(file.problem, folder, bestFolder),
    parameters: file.parameters ? parameters : undefined,
  };
}

/** The files of a run's best kernel, as {@link bakeUnder}. */
export function bakeKernel(
  candidate: Candidate,
  bestFolder: string,
  provenance: Provenance,
): Readonly<Record<string, string>> {
  const { runId, evaluationId, deviceName, workload, result } = provenance;
  return bakeUnder(candidate, bestFolder, [
    `${candidate.kernel.file.name}, candidate ${candidate.id}: the best kernel of warpsmith run ${runId} (${evaluationId}).`,
    `${deviceName}, ${workload}: ${result}.`,
  ]);
}

/**
 * The files of a kernel folder for this candidate, with its parameters baked in below a comment with these lines. `folder`
 * is the place where they will lie; kernel.json's path to problem.json is made relative to it.
 */
export function bakeUnder(
  candidate: Candidate,
  folder: string,
  comment: readonly string[],
): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const [name, text] of Object.entries(candidate.kernel.sources)) {
    const bake = candidate.kernel.file.source.kind === 'cuda' && CUDA_SOURCE.test(name);
    files[name] = bake ? header(candidate, comment) + text : text;
  }
  files['kernel.json'] = `${JSON.stringify(bakedFile(candidate, folder), null, 2)}\n`;
  return files;
}
