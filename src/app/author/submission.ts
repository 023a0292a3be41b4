import { join } from 'node:path';
import { makeCandidate } from '../../core/candidate.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { parseJson } from '../../core/json/parse-json.ts';
import type { Candidate, KernelFile, ParameterValues } from '../../core/kernel.ts';
import { completeParameters } from '../../core/plan/parameters.ts';
import type { Problem } from '../../core/problem.ts';
import { checkKernelAgainstProblem } from '../../core/schemas/kernel-checks.ts';
import { bindKernelFile, parseKernelFile } from '../../core/schemas/parse-files.ts';
import { KERNEL_FILE } from '../loading/read-kernel.ts';
import { applyEdits, type Edit } from './apply-edits.ts';
import { kernelTexts } from './kernel-texts.ts';

/** What an author hands in: a whole kernel folder, or a parent with changes. */
export interface Submission {
  /** Every file of the kernel folder by its name; with a parent, those that are new or replaced whole. */
  readonly files?: Readonly<Record<string, string>>;
  /** The files to edit. */
  readonly parent?: Candidate;
  readonly edits?: readonly Edit[];
  /** Values of the kernel's parameters; the defaults of kernel.json if absent. */
  readonly parameters?: ParameterValues;
}

/** Where submitted kernels seem to lie, in messages. They are never written as files. */
const FOLDER = 'submission';
const PLACE = `${FOLDER}/${KERNEL_FILE}`;

/** What kernel.json names as its problem. The author's own word does not count. */
const PROBLEM = '../problem.json';

export const LIMITS = { files: 16, fileBytes: 256 * 1024, nameCharacters: 100 } as const;

const FILE_NAME = /^[A-Za-z0-9_][\w.-]*(?:\/[A-Za-z0-9_][\w.-]*)*$/;

/**
 * The candidate that a submission makes. Nothing of it reaches the host's files, and it names neither problem nor machine code.
 *
 * @throws WarpsmithError for edits that do not apply, files beyond kernel.json and its sources, sizes, and any mistake in
 * kernel.json.
 */
export function readSubmission(submission: Submission, problem: Problem): Candidate {
  const files = filesOf(submission);
  checkFiles(files);
  const { [KERNEL_FILE]: json, ...sources } = files;
  if (json === undefined) throw noKernelFile(Object.keys(files));
  const file = readKernelJson(json, problem);
  requireExactly(file, Object.keys(sources));
  return makeCandidate({ folder: FOLDER, file, sources }, completeParameters(file, submission.parameters ?? {}));
}

/** The same for a run, in whose problem's folder it seems to lie. Nothing is read from there or written to it. @throws WarpsmithError likewise. */
export function candidateForRun(submission: Submission, problem: Problem): Candidate {
  const { kernel, parameters } = readSubmission(submission, problem);
  return makeCandidate({ ...kernel, folder: join(problem.folder, kernel.file.name) }, parameters);
}

function filesOf({ files = {}, parent, edits = [] }: Submission): Readonly<Record<string, string>> {
  if (Object.hasOwn(files, KERNEL_FILE)) return applyEdits(files, edits);
  if (!parent) throw noKernelFile(Object.keys(files));
  return applyEdits({ ...kernelTexts(parent.kernel), ...files }, edits);
}

function checkFiles(files: Readonly<Record<string, string>>): void {
  const names = Object.keys(files);
  if (names.length > LIMITS.files) throw tooMany(names.length);
  for (const name of names) {
    if (!FILE_NAME.test(name) || name.includes('..') || name.length > LIMITS.nameCharacters) throw badName(name);
    const bytes = Buffer.byteLength(files[name]!);
    if (bytes > LIMITS.fileBytes) throw tooLarge(name, bytes);
  }
}

/** kernel.json with the problem that judges it. Paths in messages are those of the author's text. */
function readKernelJson(text: string, problem: Problem): KernelFile {
  const given = parseJson(text, PLACE);
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  const bound = isObject ? JSON.stringify({ ...given, problem: PROBLEM }) : text;
  const source = parseKernelFile(bound, PLACE);
  if (source.source.kind === 'cubin') throw machineCode();
  const { dtype: _dtype, ...unbound } = source;
  const file = bindKernelFile(unbound, problem.file.dtype, PLACE);
  checkKernelAgainstProblem(file, problem.file, PLACE);
  return file;
}

function requireExactly({ source }: KernelFile, given: readonly string[]): void {
  const listed = [...source.files, ...(source.includes ?? [])];
  const missing = listed.find((name) => !given.includes(name));
  if (missing !== undefined) throw missingSource(missing, given);
  const other = given.find((name) => !listed.includes(name));
  if (other !== undefined) throw unlistedFile(other, listed);
}

const noKernelFile = (received: readonly string[]): WarpsmithError =>
  new WarpsmithError({
    code: 'no-kernel-json',
    message: `A kernel folder needs ${KERNEL_FILE}.`,
    path: 'files',
    received: received.join(', ') || 'no files',
    expected: `${KERNEL_FILE} and every source that it lists, or a parent to edit`,
    hint: 'See `problem` for an example, or name a parent such as "start" and give edits.',
  });

const tooMany = (count: number): WarpsmithError =>
  new WarpsmithError({
    code: 'too-many-files',
    message: 'The kernel has too many files.',
    path: 'files',
    received: `${count} files`,
    expected: `at most ${LIMITS.files}`,
    hint: 'Join headers into one.',
  });

const badName = (name: string): WarpsmithError =>
  new WarpsmithError({
    code: 'bad-file-name',
    message: 'A file of a kernel has a plain relative name.',
    path: 'files',
    received: name.slice(0, 2 * LIMITS.nameCharacters),
    expected: `letters, digits, "_", "-" and ".", without "..", at most ${LIMITS.nameCharacters} characters`,
    hint: 'For example kernel.cu or detail/tile.cuh.',
  });

const tooLarge = (name: string, bytes: number): WarpsmithError =>
  new WarpsmithError({
    code: 'file-too-large',
    message: `${name} is too large for a source.`,
    path: 'files',
    received: `${bytes} bytes`,
    expected: `at most ${LIMITS.fileBytes}`,
    hint: 'Use templates or macros in place of generated copies.',
  });

const machineCode = (): WarpsmithError =>
  new WarpsmithError({
    code: 'machine-code-refused',
    message: 'An author submits sources, not machine code.',
    file: PLACE,
    path: 'source.kind',
    received: 'cubin',
    expected: 'cuda or ptx',
    hint: 'Submit the CUDA C++ it was compiled from.',
  });

const missingSource = (name: string, given: readonly string[]): WarpsmithError =>
  new WarpsmithError({
    code: 'missing-file',
    message: `${KERNEL_FILE} lists ${name}, which was not submitted.`,
    file: PLACE,
    path: 'source.files',
    received: given.join(', ') || 'no sources',
    expected: name,
    hint: 'Submit it, or correct the list.',
  });

const unlistedFile = (name: string, listed: readonly string[]): WarpsmithError =>
  new WarpsmithError({
    code: 'unlisted-file',
    message: `${name} is not one of the sources that ${KERNEL_FILE} lists.`,
    path: 'files',
    received: name,
    expected: [KERNEL_FILE, ...listed].join(', '),
    hint: 'List it in source.files or source.includes if the kernel needs it. Nothing else is taken: no problem, reference or tolerance.',
  });
