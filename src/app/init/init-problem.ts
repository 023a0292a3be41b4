import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { makeCandidate } from '../../core/candidate.ts';
import type { CompiledCode } from '../../core/compiled-code.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import type { KernelSource } from '../../core/kernel.ts';
import type { ProblemSource } from '../../core/problem.ts';
import { constant, printAmount } from '../../cuda-source/amounts.ts';
import { constantsAsParameters, type FilledConstant, usersOfConstant } from '../../cuda-source/constant-memory.ts';
import { cutHostCode, type DeviceCode } from '../../cuda-source/cut.ts';
import type { HostFacts } from '../../cuda-source/host-values.ts';
import { followHostCode } from '../../cuda-source/host-walk.ts';
import { type CudaSource, readCudaSource } from '../../cuda-source/source.ts';
import { writeFolder } from '../../store/write-folder.ts';
import { createClangToolchain } from '../../toolchains/clang.ts';
import { findHeaderFolder } from '../../toolchains/header-pack.ts';
import { compactJson } from '../compact-json.ts';
import { earlierDraft, README } from '../drafted-problem.ts';
import { readUserText } from '../loading/read-user-file.ts';
import { type CompiledLaunch, type Draft, type DraftStep, draftProblem, isResult } from './draft.ts';
import { type DraftReference, draftReference } from './draft-reference.ts';
import { chooseLaunches, type KernelLaunch } from './launches.ts';
import type { InitOptions } from './options.ts';
import { parameterAccess } from './parameter-access.ts';
import { type Kernels, readWanted, refuseUnknown, type Wanted } from './parameters/find-parameters.ts';
import { type RungParameters, rungParameters } from './parameters/rung-parameters.ts';
import { type Multiples, probeMultiples } from './probe-limits.ts';
import { kernelFile, multiplesOfGrid, multiplesOfShapes, problemFile } from './problem-files.ts';
import { type PythonReference, pythonReference } from './python-reference.ts';
import { groupLaunches } from './rungs.ts';

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
  refuseReference(options.reference);
  const wanted = readWanted(options.parameters);
  const file = basename(path);
  const text = await readUserText({
    file: path,
    expected: 'a CUDA C++ file with a kernel',
    hint: 'A problem folder goes with --agent.',
  });
  const source = readCudaSource(text, file, (name) => besideFile(path, name));
  const facts = followHostCode(source, new Map(Object.entries(options.values)));
  const taken = takeConstants(source, facts, chooseLaunches(source, facts, options));
  refuseLibraries(taken.device, source);
  const { compiled, code } = await compileLaunches(taken.device, taken.launches, source);
  const draft = draftProblem(source, facts, compiled, options, namesDefinedIn(taken.device));
  const reference = draftReference(source, facts, draft, options, compiled);
  const python = options.reference?.startsWith('python:')
    ? await pythonReference(options.reference.slice('python:'.length), draft)
    : undefined;
  const isOriginal = options.reference === 'original';
  requireResult(draft, source);
  const rungs = await rungsOf({ draft, compiled, code, reference, source, facts, wanted });
  const parts: Parts = {
    source,
    facts,
    draft,
    reference,
    python,
    isOriginal,
    compiled,
    rungs,
    name: basename(resolve(folder)),
  };
  const notes = notesOf(parts, taken);
  const files = filesOf(parts, notes);
  const written = writeFolder(folder, files, {
    option: '--output',
    earlier: (at) => earlierDraft(at, README_MARK, Object.keys(files)),
  });
  return { schemaVersion: 1, kind: 'init', folder: written, files: Object.keys(files), notes };
}

const REFERENCES = ['cpu', 'stub', 'original'];

/** @throws WarpsmithError `bad-option-value`. */
function refuseReference(named = 'cpu'): void {
  if (REFERENCES.includes(named) || /^python:.*\.py(?::[A-Za-z_]\w*)?$/.test(named)) return;
  throw new WarpsmithError({
    code: 'bad-option-value',
    message: `--reference can't be "${named}".`,
    path: '--reference',
    received: named,
    expected: `${REFERENCES.join(', ')}, or python:FILE.py with :function where it has several`,
    hint: 'For example --reference python:ref.py:softmax',
  });
}

/** Device code of some launches. */
interface Taken {
  readonly device: DeviceCode;
  readonly launches: readonly KernelLaunch[];
  /** `__constant__` arrays that became parameters. */
  readonly constants: readonly string[];
}

/**
 * Cuts host code, and makes parameters of the constant memory that host code filled.
 *
 * @throws WarpsmithError `constant-memory` where that can't be done.
 */
function takeConstants(source: CudaSource, facts: HostFacts, launches: readonly KernelLaunch[]): Taken {
  const headers = findHeaderFolder();
  const kernels = [...new Set(launches.map(({ kernel }) => kernel))];
  const device = cutHostCode(source, kernels, (name) => existsSync(join(headers, name)));
  const uploads = facts.events.flatMap((event) => (event.kind === 'upload-constant' ? [event] : []));
  const filled = uploads.filter(({ symbol }) => device.variables.some(({ name }) => name === symbol));
  if (filled.length === 0) return { device, launches, constants: [] };
  const read = readCudaSource(device.text, source.file);
  const memories = new Map(filled.map(({ symbol, memory }) => [symbol, memory] as const));
  const constants = [...memories].map(([name, memory]) => {
    const users = usersOfConstant(read, name);
    if (memory === undefined || users.otherUser !== undefined) throw constantMemory(source, users);
    return users;
  });
  const text = constantsAsParameters(device.text, source.file, constants);
  const extended = launches.map((one): KernelLaunch => {
    const used = constants.filter(({ kernels: users }) => users.includes(one.kernel.name));
    const values = used.map(({ name }) => ({
      kind: 'pointer' as const,
      memory: memories.get(name)!,
      offset: constant(0),
    }));
    return { ...one, launch: { ...one.launch, arguments: [...one.launch.arguments, ...values] } };
  });
  return { device: { ...device, text }, launches: extended, constants: constants.map(({ name }) => name) };
}

const constantMemory = ({ file }: CudaSource, { name, otherUser }: FilledConstant): WarpsmithError =>
  new WarpsmithError({
    code: 'constant-memory',
    message: `Host code fills the constant memory ${name}, and no host code runs.`,
    file,
    received: otherUser === undefined ? `${name}, which is no array` : `${name}, which ${otherUser} uses`,
    expected: 'a __constant__ array that kernels alone use, which becomes a parameter',
    hint: `Pass ${name} as a parameter of the kernel, or give it its values where it is declared.`,
  });

/** Names of sources, so that a published file can't include a key into a problem folder. */
const SOURCE_NAME = /\.(?:h|hh|hpp|hxx|cuh|cu|c|cc|cpp|inl|inc)$/i;
const LARGEST_HEADER_BYTES = 4 * 1024 ** 2;

/** A header beside the file that it includes by its name. */
function besideFile(path: string, name: string): string | undefined {
  const place = join(dirname(path), name);
  const found = SOURCE_NAME.test(name) ? statSync(place, { throwIfNoEntry: false }) : undefined;
  return found?.isFile() && found.size <= LARGEST_HEADER_BYTES ? readFileSync(place, 'utf8') : undefined;
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
): Promise<{ compiled: CompiledLaunch[]; code: CompiledCode }> {
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
  const request = { candidate: makeCandidate(kernel, {}), architecture: 'sm_89' };
  const outcome = await toolchain.compile(request).finally(() => toolchain.close?.());
  if (!outcome.ok) throw doesNotCompile(outcome.message, outcome.diagnostics, device, source);
  const { text, functionSymbols } = outcome.code;
  const compiled = launches.map((launch) => ({
    ...launch,
    access: parameterAccess(text, functionSymbols[launch.functionName]!),
  }));
  return { compiled, code: outcome.code };
}

/** A kernel folder of the problem. */
interface Rung {
  readonly folder: string;
  readonly description: string;
  readonly steps: readonly DraftStep[];
  readonly multiples: Multiples;
  readonly parameters?: RungParameters | undefined;
  /** On numbers that did not become parameters. */
  readonly notes: readonly string[];
  /** kernel.cu of the kernel as it is written. */
  readonly text: string;
  /** Whether no small shape was found on which it stays inside its buffers. */
  readonly isUnprobed: boolean;
}

interface RungsRequest extends Pick<Parts, 'draft' | 'compiled' | 'reference' | 'source' | 'facts'> {
  readonly code: CompiledCode;
  readonly wanted: readonly Wanted[] | undefined;
}

async function rungsOf(request: RungsRequest): Promise<Rung[]> {
  const { draft, compiled, source, facts, wanted } = request;
  const groups = groupLaunches(compiled);
  const kernels = groups.map((group): Kernels => {
    const { text } = takeConstants(source, facts, group.map(withoutConstants)).device;
    const steps = group.map((launch) => draft.open.steps[compiled.indexOf(launch)]!);
    return { facts, draft, group, steps, text, file: source.file };
  });
  if (wanted) refuseUnknown(wanted, kernels, draft);
  const rungs: Rung[] = [];
  for (const [i, own] of kernels.entries()) rungs.push(await rungOf(request, own, i));
  return rungs;
}

async function rungOf(
  { draft, compiled, code, reference, source, wanted }: RungsRequest,
  kernels: Kernels,
  i: number,
): Promise<Rung> {
  const { group } = kernels;
  const open = draft.dimensions.filter(({ isFixed }) => !isFixed).map(({ name }) => name);
  const folder = `${String(i + 1).padStart(2, '0')}_${group[0]!.kernel.name}`;
  const steps = group.map((launch) => draft.steps[compiled.indexOf(launch)]!);
  const names = [...new Set(group.map(({ functionName }) => functionName))];
  const about = { name: folder, description: `From ${source.file}: ${names.join(', then ')}.` };
  const none = { ...about, multiples: new Map<string, number>() };
  const kernel = kernelFile(draft, steps, none);
  const rungNames = { ...none, rungs: [folder] };
  const found = await probeMultiples(problemFile(draft, rungNames, reference), kernel, code, open);
  // What the problem demands anyway is no limit of the kernel.
  const needed = multiplesOfShapes(draft);
  const multiples = new Map(
    [...(found ?? []), ...multiplesOfGrid(steps)].filter(([name, tile]) => (needed.get(name) ?? 1) % tile !== 0),
  );
  const { found: parameters, notes } = await rungParameters({
    kernels,
    wanted,
    problem: problemFile(draft, { ...rungNames, multiples }, reference),
    original: { kernel, code },
    multiples,
    kernelWith: (parametrised, tiles) => kernelFile(draft, steps, { ...none, parametrised, tiles }),
  });
  const rung = { folder, description: about.description, steps, multiples, parameters, notes };
  return { ...rung, text: kernels.text, isUnprobed: found === undefined };
}

/** @throws WarpsmithError `no-result` if the launches leave nothing that anybody reads. */
function requireResult({ buffers }: Draft, { file }: CudaSource): void {
  if (buffers.some(isResult)) return;
  throw new WarpsmithError({
    code: 'no-result',
    message: `The launches of ${file} write nothing that the host code copies back.`,
    file,
    received: buffers.map(({ name, role }) => `${name} (${role})`).join(', ') || 'no buffers',
    expected: 'a buffer that a kernel writes, and a cudaMemcpy of it to the host',
    hint: 'Take the kernels that make the result with --kernel.',
  });
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
  readonly facts: HostFacts;
  readonly draft: Draft;
  readonly reference: DraftReference;
  readonly python: PythonReference | undefined;
  readonly isOriginal: boolean;
  readonly compiled: readonly CompiledLaunch[];
  readonly rungs: readonly Rung[];
  readonly name: string;
}

function filesOf(parts: Parts, notes: readonly string[]): Record<string, string> {
  const { draft, reference, python, isOriginal, rungs, name } = parts;
  const original = isOriginal ? [{ ...rungs[0]!, folder: ORIGINAL, parameters: undefined }] : [];
  const kernels = [...rungs, ...original].flatMap(
    ({ folder, description, steps, multiples, parameters, text }): [string, string][] => {
      const tiles = parameters?.tiles;
      const kernel = kernelFile(draft, steps, {
        name: folder,
        description,
        multiples,
        parametrised: parameters,
        tiles,
      });
      return [
        [`${folder}/kernel.json`, `${compactJson(kernel)}\n`],
        [`${folder}/kernel.cu`, parameters?.text ?? text],
      ];
    },
  );
  const about = {
    name: problemName(name),
    description: rungs.map((rung) => rung.description).join(' '),
    rungs: rungs.map(({ folder }) => folder),
    multiples: new Map(rungs.flatMap(({ multiples, parameters }) => [...(parameters?.largestTiles ?? multiples)])),
  };
  const problem = isOriginal
    ? comparedWithOriginal(problemFile(draft, about, reference))
    : problemFile(draft, about, reference);
  return {
    'problem.json': `${compactJson(problem)}\n`,
    ...(python?.files ?? (isOriginal ? {} : { 'reference.ts': reference.text })),
    [README]: readme(parts, notes),
    ...Object.fromEntries(kernels),
  };
}

/** As the host code launches it. */
const withoutConstants = (one: CompiledLaunch): CompiledLaunch => ({
  ...one,
  launch: { ...one.launch, arguments: one.launch.arguments.slice(0, one.kernel.function!.parameters.length) },
});

const problemName = (folder: string): string => folder.replaceAll(/[^\w.-]+/g, '-');

/** Folder of the kernel as it was given, which no rung replaces. */
const ORIGINAL = 'original';

/** Unit roundoff of the dtypes whose results say nothing about errors of the arithmetic behind them. */
const NARROW: Readonly<Record<string, number>> = { f16: 2 ** -11, bf16: 2 ** -8 };

/**
 * Both kernels err: twice what one may. Results in 16 bits can't show how inputs act on them, so their tolerance is two roundings of
 * either kernel, for results of about 1.
 */
function comparedWithOriginal(problem: ProblemSource): ProblemSource {
  const { comparison } = problem;
  const twice: ProblemSource['comparison'] =
    comparison.kind === 'conditioned'
      ? { ...comparison, constant: 2 * comparison.constant }
      : comparison.kind === 'allclose'
        ? { ...comparison, atol: 2 * comparison.atol, rtol: 2 * comparison.rtol }
        : comparison.kind === 'calibrated'
          ? { kind: 'allclose', atol: 4 * NARROW[comparison.storage]!, rtol: 4 * NARROW[comparison.storage]! }
          : comparison;
  return { ...problem, comparison: twice, originalKernel: ORIGINAL };
}

const REFERENCE_NOTES = {
  original:
    'There is no reference: results are compared with those of the kernel as it was given (original/), in its own precision. A verdict says "the same as the original", not "right".',
  stub: 'reference.ts is a stub that fails: write what is right.',
} as const;

function referenceNote({ reference, python, isOriginal }: Parts): string {
  if (isOriginal) return REFERENCE_NOTES.original;
  if (python) return python.note;
  return reference.from === undefined
    ? REFERENCE_NOTES.stub
    : `reference.ts is a draft, translated from ${reference.from}: read it before you trust a verdict.`;
}

function notesOf(parts: Parts, { device, constants }: Taken): string[] {
  const { draft, reference, python, isOriginal, compiled, rungs } = parts;
  const loops = compiled.filter(({ launch }) => launch.isInLoop);
  return [
    referenceNote(parts),
    ...(python || isOriginal ? [] : reference.refused).map((line) => `Not taken as reference: ${line}.`),
    ...loops.map(
      ({ kernel, launch }) =>
        `${kernel.name} is launched in a loop (line ${launch.line}): the kernel has one launch of it.`,
    ),
    ...constants.map(
      (name) => `Constant memory ${name} became a parameter and an input: loads from it take another path than before.`,
    ),
    ...rungs.flatMap(({ folder, multiples, parameters, notes, isUnprobed }) => [
      ...(parameters ? [parametersNote(folder, parameters)] : []),
      ...notes.map((note) => `${folder}: ${note}`),
      ...(multiples.size > 0
        ? [
            `${folder} takes whole tiles only: ${[...multiples].map(([size, tile]) => `${size} in multiples of ${printAmount(parameters?.tiles.get(size) ?? constant(tile))}`).join(', ')}. See ${parameters ? 'constraints' : 'limits'} in its kernel.json.`,
          ]
        : []),
      ...(isUnprobed ? [`${folder} left its buffers on every small shape that was tried: it may need limits.`] : []),
    ]),
    ...draft.notes,
    `Cut: ${device.removed.length} items of host code.`,
  ];
}

const parametersNote = (folder: string, { parameters }: RungParameters): string =>
  `Parameters of ${folder}, which optimize searches: ${parameters.map(({ name, value, values }) => `${name} = ${value} (${values.join(', ')})`).join('; ')}.`;

function readme({ source, name, python, isOriginal }: Parts, notes: readonly string[]): string {
  return [
    `# ${name}`,
    '',
    README_MARK,
    '',
    `Made from ${source.file} by \`warpsmith init\`. It read the host code for sizes, buffers and launches, ran none of it, and cut it.`,
    '',
    ...notes.map((note) => `- ${note}`),
    '',
    `Before you trust a verdict: read ${isOriginal ? '' : python ? 'reference.py and ' : 'reference.ts and '}problem.json, and run \`warpsmith audit\` on this folder.`,
    '',
  ].join('\n');
}
