import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type ChangedFiles, objectsOf, uncommitted } from '../../handover/changed-files.ts';
import { isSameSource } from './same-code.ts';
import { isSameScript } from './same-script.ts';

/** A kernel of the work tree that a change touches. */
export interface TouchedKernel {
  /** Its folder, relative to the top of the repository. */
  readonly path: string;
  /** changed: files of it; new: not in the base; problem: only what judges it. */
  readonly change: 'changed' | 'new' | 'problem';
}

/** What a change touches. Paths are relative to the top of the repository. */
export interface Touched {
  readonly kernels: readonly TouchedKernel[];
  /** Kernel folders of the base that are not there any more. */
  readonly deleted: readonly string[];
  /** Problem folders whose kernels are judged anew. */
  readonly problems: readonly string[];
  /** How many files of the repository the change touches, kernels or not. */
  readonly fileCount: number;
  /** Whether files of kernels or problems are not committed. */
  readonly isDirty: boolean;
}

const KERNEL = 'kernel.json';
const PROBLEM = 'problem.json';
/** Files of a problem's folder that do not decide what is right at usual shapes. */
const NO_JUDGES = /(?:^|\/)(?:baseline\.py|suites\.json|[^/]+\.md)$/;

/** Folders of a tree that hold a file of this name. */
const foldersWith = (name: string, paths: Iterable<string>): string[] =>
  [...paths].filter((path) => posix.basename(path) === name).map((path) => posix.dirname(path));

/** The folder among these that a file belongs to: the innermost. */
function ownerOf(path: string, folders: ReadonlySet<string>): string | undefined {
  for (let folder = posix.dirname(path); ; folder = posix.dirname(folder)) {
    if (folders.has(folder)) return folder;
    if (folder === '.') return undefined;
  }
}

/** Finds the kernels that a change touches: by their own files, or by the problem that judges them. */
export async function touchedKernels(files: ChangedFiles): Promise<Touched> {
  const problems = foldersWith(PROBLEM, files.present);
  const judges = problems.flatMap((problem) => judgingKernels(files.top, problem));
  const all = foldersWith(KERNEL, files.present).filter((folder) => !judges.includes(folder));
  const owned = new Set([...all, ...problems]);
  const belonging = new Set([...files.present, ...files.atBase.keys()].filter((path) => ownerOf(path, owned)));
  const dirty = await uncommitted(files, [...belonging]);
  const changed = new Set([...files.committed, ...dirty]);
  const own = new Set([...changed].map((path) => ownerOf(path, owned)));
  const judgedAnew = await changedProblems(files, changed, problems, all);
  const kernels = all.flatMap((path): TouchedKernel[] => {
    const isNew = !files.atBase.has(posix.join(path, KERNEL));
    if (own.has(path)) return [{ path, change: isNew ? 'new' : 'changed' }];
    return judgedAnew.includes(problemOf(files.top, path) ?? '') ? [{ path, change: 'problem' }] : [];
  });
  const deleted = foldersWith(KERNEL, files.atBase.keys()).filter(
    (path) => !files.present.has(posix.join(path, KERNEL)),
  );
  return {
    // Those whose own code changed come first: `--most` leaves out others.
    kernels: [
      ...kernels.filter(({ change }) => change !== 'problem'),
      ...kernels.filter(({ change }) => change === 'problem'),
    ],
    deleted,
    problems: judgedAnew,
    fileCount: changed.size,
    isDirty: dirty.length > 0,
  };
}

/** A JSON file as it is. Whoever judges a kernel says what is wrong with it. */
function readLoosely(file: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Folders with a kernel.json that belong to the problem: they say what is right. */
function judgingKernels(top: string, problem: string): string[] {
  const { deviceReference, originalKernel } = readLoosely(join(top, problem, PROBLEM));
  return [deviceReference, originalKernel].flatMap((name) =>
    typeof name === 'string' ? posix.join(problem, name) : [],
  );
}

/** The problem folder that a kernel names. */
function problemOf(top: string, kernel: string): string | undefined {
  const { problem } = readLoosely(join(top, kernel, KERNEL));
  return typeof problem === 'string' ? posix.dirname(posix.join(kernel, problem)) : undefined;
}

/** Problems of which something changed that decides what is right, or what is judged. */
async function changedProblems(
  files: ChangedFiles,
  changed: ReadonlySet<string>,
  problems: readonly string[],
  kernels: readonly string[],
): Promise<string[]> {
  const owned = new Set([...kernels, ...problems]);
  const touched = [...changed].filter((path) => !NO_JUDGES.test(path));
  const found: string[] = [];
  for (const problem of problems) {
    const own = touched.filter((path) => ownerOf(path, owned) === problem);
    const same = await Promise.all(own.map((path) => saysTheSame(files, path)));
    if (same.includes(false)) found.push(problem);
  }
  return found;
}

/** By the end of a file's name: whether texts differ in nothing that matters. */
const SAME: readonly (readonly [RegExp, (before: string, after: string) => boolean])[] = [
  [/(?:^|\/)(?:problem|kernel)\.json$/, (before, after) => meaningOf(before) === meaningOf(after)],
  [/\.cuh?$/, isSameSource],
  [/\.[cm]?[jt]s$/, isSameScript],
];

/** A JSON file but for its layout and description. The order of keys counts: it decides how inputs are drawn. */
const meaningOf = (text: string): string => JSON.stringify({ ...JSON.parse(text), description: '' });

/** Whether a file of a problem differs from the base in comments, layout or description at most. */
async function saysTheSame({ git, top, atBase, present }: ChangedFiles, path: string): Promise<boolean> {
  const id = atBase.get(path);
  const same = SAME.find(([name]) => name.test(path))?.[1];
  if (id === undefined || !same || !present.has(path)) return false;
  const [before] = await objectsOf(git, [id]);
  try {
    return same(before!.toString('utf8'), readFileSync(join(top, path), 'utf8'));
  } catch {
    return false;
  }
}
