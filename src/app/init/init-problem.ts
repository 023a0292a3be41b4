import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { makeCandidate } from '../../core/candidate.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import type { KernelSource } from '../../core/kernel.ts';
import { cutHostCode, type DeviceCode } from '../../cuda-source/cut.ts';
import { followHostCode } from '../../cuda-source/host-walk.ts';
import { type CudaSource, readCudaSource } from '../../cuda-source/source.ts';
import { writeFolder } from '../../store/write-folder.ts';
import { createClangToolchain } from '../../toolchains/clang.ts';
import { findHeaderFolder } from '../../toolchains/header-pack.ts';
import { readUserFile } from '../loading/read-user-file.ts';
import { compactJson } from './compact-json.ts';
import { type CompiledLaunch, type Draft, draftProblem } from './draft.ts';
import { type DraftReference, draftReference } from './draft-reference.ts';
import { chooseLaunches, type KernelLaunch } from './launches.ts';
import type { InitOptions } from './options.ts';
import { parameterAccess } from './parameter-access.ts';
import { kernelFile, problemFile } from './problem-files.ts';

const README = 'README.md';
const README_MARK = '<!-- written by warpsmith init -->';

/** What `init` made of a file. */
export interface InitReport {
  readonly schemaVersion: 1;
  readonly kind: 'init';
  readonly folder: string;
  readonly files: readonly string[];
  /** What was found and what is to be read, a line each. */
  readonly notes: readonly string[];
}

/**
 * Makes a problem folder from a CUDA C++ file with host code. Runs none of it: host code is read for grids, sizes and buffers,
 * and cut.
 *
 * @param folder where to write; by default, the file's name without extension, here.
 * @throws WarpsmithError for what can't be read, found or expressed, each with the next step.
 */
export async function initProblem(
  path: string,
  options: InitOptions,
  folder = basename(path, extname(path)),
): Promise<InitReport> {
  const file = basename(path);
  const bytes = await readUserFile({
    file: path,
    expected: 'a CUDA C++ file with a kernel',
    hint: 'A problem folder goes with --agent.',
  });
  const source = readCudaSource(bytes.toString('utf8'), file, (name) => besideFile(path, name));
  const facts = followHostCode(source, new Map(Object.entries(options.values)));
  const launches = chooseLaunches(source, facts, options);
  const headers = findHeaderFolder();
  const device = cutHostCode(source, [...new Set(launches.map(({ kernel }) => kernel))], (name) =>
    existsSync(join(headers, name)),
  );
  refuseLibraries(device, source);
  const compiled = await compileLaunches(device, launches, source);
  const draft = draftProblem(source, facts, compiled, options, namesDefinedIn(device));
  const reference = draftReference(source, facts, draft, options);
  const files = filesOf({ source, draft, device, reference, name: basename(resolve(folder)), launches });
  const written = writeFolder(folder, files, {
    option: '--output',
    earlier: (at) => earlierFiles(at, Object.keys(files)),
  });
  return {
    schemaVersion: 1,
    kind: 'init',
    folder: written,
    files: Object.keys(files),
    notes: notesOf(draft, device, reference),
  };
}

/** A header beside the file that it includes by its name. */
function besideFile(path: string, name: string): string | undefined {
  const place = join(dirname(path), name);
  return existsSync(place) ? readFileSync(place, 'utf8') : undefined;
}

function refuseLibraries({ libraries }: DeviceCode, { file }: CudaSource): void {
  if (libraries.length === 0) return;
  throw new WarpsmithError({
    code: 'needs-a-library',
    message: `The device code of ${file} needs ${libraries.join(' and ')}, which warpsmith's device headers do not have.`,
    file,
    received: libraries.join(', '),
    expected: 'device code that needs CUDA C++ alone',
    hint: 'Write out what it takes from there, such as a block-wide sum with __shfl_down_sync; or take another kernel with --kernel.',
  });
}

/** Macros and constants of the device code: a kernel's sizes that no launch can change. */
function namesDefinedIn({ text, variables }: DeviceCode): Set<string> {
  const macros = [...text.matchAll(/^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)/gm)].map(([, name]) => name!);
  return new Set([...macros, ...variables.flatMap(({ name, otherNames }) => [name, ...otherNames])]);
}

/** Compiles for the virtual L4, whose PTX says what each parameter is used for. */
async function compileLaunches(
  device: DeviceCode,
  launches: readonly KernelLaunch[],
  source: CudaSource,
): Promise<CompiledLaunch[]> {
  const steps = [...new Set(launches.map(({ functionName }) => functionName))].map((name) => ({
    function: name,
    grid: [1],
    block: [1],
    arguments: [],
  }));
  const file: KernelSource = {
    schemaVersion: 1,
    name: source.file,
    description: '',
    problem: '../problem.json',
    source: { kind: 'cuda', files: ['kernel.cu'] },
    steps,
  };
  const kernel = { folder: source.file, file: file as never, sources: { 'kernel.cu': device.text } };
  const toolchain = await createClangToolchain();
  const outcome = await toolchain.compile({ candidate: makeCandidate(kernel, {}), architecture: 'sm_89' });
  await toolchain.close?.();
  if (!outcome.ok) throw doesNotCompile(outcome.message, outcome.diagnostics, device, source);
  const { text, functionSymbols } = outcome.code;
  return launches.map((launch) => ({
    ...launch,
    access: parameterAccess(text, functionSymbols[launch.functionName]!),
  }));
}

function doesNotCompile(
  message: string,
  diagnostics: readonly { message: string; location?: { line: number } | undefined }[],
  { text }: DeviceCode,
  { file }: CudaSource,
): WarpsmithError {
  const [first] = diagnostics;
  const line = first?.location && text.split('\n')[first.location.line - 1]?.trim();
  return new WarpsmithError(
    {
      code: 'does-not-compile',
      message: `The device code of ${file} does not compile by itself: ${first?.message ?? message}`,
      file,
      received: line ?? message,
      expected: 'kernels that need nothing but device code and CUDA’s headers',
      hint: 'Correct the file, or move what the kernel needs to device code; warpsmith’s headers are in docs/reference/device-headers.md.',
    },
    EXIT.usage,
  );
}

interface Parts {
  readonly source: CudaSource;
  readonly draft: Draft;
  readonly device: DeviceCode;
  readonly reference: DraftReference;
  readonly name: string;
  readonly launches: readonly KernelLaunch[];
}

function filesOf({ source, draft, device, reference, name, launches }: Parts): Record<string, string> {
  const rung = `01_${launches[0]!.kernel.name}`;
  const description = `From ${source.file}: ${[...new Set(launches.map(({ functionName }) => functionName))].join(', then ')}.`;
  const problem = problemFile(draft, { name: problemName(name), description, rungs: [rung] }, reference);
  const kernel = kernelFile(draft, draft.steps, { name: rung, description });
  return {
    'problem.json': `${compactJson(problem)}\n`,
    'reference.ts': reference.text,
    [`${rung}/kernel.json`]: `${compactJson(kernel)}\n`,
    [`${rung}/kernel.cu`]: device.text,
    [README]: readme(source, name, draft, device, reference),
  };
}

const problemName = (folder: string): string => folder.replaceAll(/[^\w.-]+/g, '-');

function notesOf(draft: Draft, { removed }: DeviceCode, reference: DraftReference): string[] {
  return [
    reference.from === undefined
      ? 'reference.ts is a stub that fails: write what is right.'
      : `reference.ts is a draft, translated from ${reference.from}: read it before you trust a verdict.`,
    ...reference.refused.map((line) => `Not taken as reference: ${line}.`),
    ...draft.notes,
    `Cut: ${removed.length} items of host code.`,
  ];
}

function readme(source: CudaSource, name: string, draft: Draft, device: DeviceCode, reference: DraftReference): string {
  return [
    `# ${name}`,
    '',
    README_MARK,
    '',
    `Made from ${source.file} by \`warpsmith init\`. It read the host code for sizes, buffers and launches, ran none of it, and cut it.`,
    '',
    ...notesOf(draft, device, reference).map((note) => `- ${note}`),
    '',
    'Before you trust a verdict: read reference.ts and problem.json, and run `warpsmith audit` on this folder.',
    '',
  ].join('\n');
}

/** A folder is ours if its README says so. */
function earlierFiles(folder: string, names: readonly string[]): readonly string[] {
  const path = join(folder, README);
  return existsSync(path) && readFileSync(path, 'utf8').includes(README_MARK) ? names : [];
}
