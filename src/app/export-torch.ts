import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeCandidate } from '../core/candidate.ts';
import type { ComparedSizes } from '../core/compared-sizes.ts';
import type { CompiledCode } from '../core/compiled-code.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Candidate, ParameterValues } from '../core/kernel.ts';
import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import type { DispatchTable } from '../handover/dispatch-table.ts';
import { identifierOf } from '../handover/launch-header/cpp-names.ts';
import {
  filesOfTorchPackage,
  type PackagedKernel,
  TORCH_MARK,
  type TorchPackageRequest,
  torchPackage,
} from '../handover/torch/torch-package.ts';
import { readRegularFile } from '../store/read-regular-file.ts';
import { requireFreeFolder, writeFolder } from '../store/write-folder.ts';
import { createMachineCodeToolchain } from '../toolchains/create-toolchain.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import { type CandidateTarget, candidateTarget } from './candidate-target.ts';
import { comparedSizesOf } from './compared-sizes.ts';
import { describeEvidence, type ExportReport, evidenceOf } from './export.ts';
import { loadKernel } from './loading/load-kernel.ts';
import { packageVersion } from './package-version.ts';
import type { Surroundings } from './session.ts';

export interface TorchExportReport extends Pick<ExportReport, 'folder' | 'files' | 'evidence' | 'notes'> {
  /** Of the Python package, and of its namespace in `torch.ops`. */
  name: string;
  /** The function that users import. */
  functionName: string;
  kernels: { kernel: string; candidate: string; parameters: ParameterValues; architectures: string[] }[];
}

type TorchRequest = RequestOf<'export'> & { readonly torch: string } & Pick<Surroundings, 'signal' | 'onStep'>;

/** What is to be packaged: one candidate, or those of a dispatch table. */
interface Source extends Omit<TorchPackageRequest, 'kernels' | 'version' | 'date'> {
  readonly candidates: readonly Candidate[];
  /** Where the results of each were compared. */
  readonly compared: readonly (ComparedSizes | undefined)[];
  /** Where it was judged, if that is known. */
  readonly architectures: readonly string[];
}

const DISPATCH_FILE = 'dispatch.json';
/** Machine code of 8.0 also runs on 8.6 and 8.9. */
const DEFAULT_ARCHITECTURES = ['sm_80', 'sm_90'];

/**
 * Compiles a candidate, or every kernel of a dispatch table's folder, and writes a Python package for PyTorch.
 *
 * @throws WarpsmithError as `candidateTarget`; `not-a-dispatch-table`, `bad-architecture`, `no-code-for-architecture`,
 * `does-not-compile`; `no-compiler` (exit code 3) where neither NVRTC nor nvcc is; `folder-not-empty`.
 */
export async function exportTorch(request: TorchRequest): Promise<TorchExportReport> {
  const options = { parameters: {}, ...completeRequest('export', request) };
  const folder = resolve(request.torch);
  requireFreeFolder(folder, FOLDER);
  const asked = options.architectures.flatMap((text) => text.split(','));
  for (const architecture of asked) requireArchitecture(architecture);
  const source = isTable(options.target) ? await sourceOfTable(options) : await sourceOfCandidate(options);
  const architectures = asked.length > 0 ? [...new Set(asked)] : architecturesOf(source);
  const { kernels, notes } = await compileAll(source, architectures, options);
  const name = options.name ?? source.name;
  const { functionName, files } = torchPackage({
    ...source,
    kernels,
    name,
    version: packageVersion(),
    date: new Date().toISOString(),
  });
  writeFolder(folder, files, FOLDER);
  return {
    folder,
    name,
    functionName,
    kernels: kernels.map(({ candidate, code }) => ({
      kernel: candidate.kernel.file.name,
      candidate: candidate.id,
      parameters: candidate.parameters,
      architectures: code.map(({ architecture }) => architecture),
    })),
    files: Object.keys(files),
    evidence: [...source.sentences],
    notes,
  };
}

function earlierFiles(folder: string): string[] {
  try {
    return filesOfTorchPackage(readRegularFile(join(folder, TORCH_MARK)).toString('utf8'));
  } catch {
    return [];
  }
}

const FOLDER = { option: '--torch', earlier: earlierFiles } as const;

const isTable = (target: string): boolean => existsSync(join(target, DISPATCH_FILE));

type Options = Pick<TorchRequest, 'dtype' | 'parameters' | 'toolchain' | 'unverifiedSizes' | 'signal' | 'onStep'> & {
  readonly target: string;
  readonly store: string;
  readonly parameters: ParameterValues;
};

async function sourceOfCandidate(options: Options): Promise<Source> {
  const target = await candidateTarget(options.target, options);
  const { candidate, problem, origin } = target;
  const compared = origin && comparedSizesOf(candidate, origin.run, options.store);
  const evidence = origin ? evidenceOf(origin.run, origin.event.evaluation.id, compared) : null;
  const judged = evidence && /sm_\d+[af]?/.exec(evidence.environment.device ?? '')?.[0];
  return {
    problem: problem.file,
    candidates: [candidate],
    compared: [compared],
    table: { entries: [], fallback: 0 },
    name: identifierOf(`${problem.file.name}_${candidate.kernel.file.name}`),
    dimensions: evidence?.workloads[0]?.dimensions ?? problem.file.workloads[0]!.dimensions,
    sentences: [...describeEvidence(target, evidence, options), ...dateOf(target)],
    evidence: { schemaVersion: 1, kind: 'evidence', date: origin?.run.events[0]?.time ?? null, run: evidence },
    architectures: judged ? [judged] : [],
  };
}

/** When, with what. */
function dateOf({ origin }: CandidateTarget): string[] {
  if (!origin) return [];
  const { environment } = origin.run.started;
  const about = ['driver', 'compiler', 'warpsmith']
    .filter((name) => environment[name] !== undefined)
    .map((name) => `${name} ${environment[name]}`);
  return [
    `Judged on ${origin.run.events[0]!.time.slice(0, 10)}${about.length > 0 ? ` with ${about.join(', ')}` : ''}.`,
  ];
}

async function sourceOfTable({ target, parameters, dtype }: Options): Promise<Source> {
  const folder = resolve(target);
  const table = readTable(folder);
  if (Object.keys(parameters).length > 0 || dtype !== undefined) throw fixedByTable(target, dtype);
  const used = [...new Set([...table.entries, table.fallback].map((entry) => entry.folder))];
  const loaded = await Promise.all(used.map((name) => loadKernel(join(folder, name))));
  // The table's own ids: those of what was judged, before its parameters were baked in.
  const idOf = new Map([...table.entries, table.fallback].map((entry) => [entry.folder, entry.candidate.id]));
  const problem = loaded[0]!.problem.file;
  const { name, id } = table.device;
  return {
    problem,
    compared: used.map((name) => [...table.entries, table.fallback].find((entry) => entry.folder === name)!.compared),
    candidates: loaded.map(({ kernel }, index) => ({ ...makeCandidate(kernel, {}), id: idOf.get(used[index]!)! })),
    table: {
      entries: table.entries.map(({ workload, dimensions, folder: of }) => ({
        workload,
        dimensions,
        kernel: used.indexOf(of),
      })),
      fallback: used.indexOf(table.fallback.folder),
    },
    name: identifierOf(`${problem.name}_dispatch`),
    dimensions: table.entries[0]?.dimensions ?? problem.workloads[0]!.dimensions,
    sentences: [
      `Winners on ${name} (${id})${table.date === undefined ? '' : `, ${table.date}`}, one for each workload:`,
      ...table.entries.map(
        ({ workload, candidate, kind, medianNs }) =>
          `${workload}: ${candidate.kernel} (${candidate.id}), ${kind} ${Number((medianNs / 1000).toPrecision(4))} µs.`,
      ),
    ],
    evidence: { schemaVersion: 1, kind: 'evidence', date: table.date ?? null, table },
    architectures: [],
  };
}

/** @throws WarpsmithError `not-a-dispatch-table`. */
function readTable(folder: string): DispatchTable {
  const file = join(folder, DISPATCH_FILE);
  try {
    const table = JSON.parse(readRegularFile(file).toString('utf8')) as DispatchTable;
    const folders = [...table.entries, table.fallback].map((entry) => entry.folder);
    if (table.kind === 'dispatch-table' && table.schemaVersion === 1 && folders.every((name) => /^\w+$/.test(name)))
      return table;
  } catch {
    // The same error as for JSON of another kind.
  }
  throw new WarpsmithError({
    code: 'not-a-dispatch-table',
    message: `${file} is not a dispatch table of this version.`,
    file,
    received: 'another JSON file',
    expected: 'dispatch.json as `warpsmith dispatch` writes it, with the kernels beside it',
    hint: 'Make it again with `warpsmith dispatch`.',
  });
}

const fixedByTable = (target: string, dtype: string | undefined): WarpsmithError =>
  new WarpsmithError({
    code: 'parameters-of-a-candidate',
    message: `${target} is a dispatch table, whose kernels have their parameters and dtype.`,
    path: dtype === undefined ? '--set' : '--dtype',
    received: target,
    expected: 'a dispatch table without --set and --dtype',
    hint: 'Name a kernel folder instead.',
  });

function requireArchitecture(text: string): void {
  if (/^sm_\d{2,3}[af]?$/.test(text)) return;
  throw new WarpsmithError({
    code: 'bad-architecture',
    message: `--arch can't be "${text}".`,
    path: '--arch',
    received: text,
    expected: 'sm_ and the compute capability of a GPU, such as sm_80, sm_89, sm_90 or sm_90a',
    hint: '`warpsmith devices` shows the architecture of each GPU here.',
  });
}

const architecturesOf = ({ architectures, candidates }: Source): string[] =>
  architectures.length > 0
    ? [...architectures]
    : [...new Set(candidates.flatMap(({ kernel }) => kernel.file.source.architectures ?? DEFAULT_ARCHITECTURES))];

/** Every candidate for every architecture that it may have. */
async function compileAll(
  { candidates, compared }: Source,
  architectures: readonly string[],
  { toolchain: kind, unverifiedSizes, signal, onStep }: Options,
): Promise<{ kernels: PackagedKernel[]; notes: string[] }> {
  const toolchain = await createMachineCodeToolchain(kind);
  try {
    const kernels: PackagedKernel[] = [];
    const notes: string[] = [];
    for (const [index, candidate] of candidates.entries()) {
      const { name, source } = candidate.kernel.file;
      const fitting = architectures.filter((one) => source.architectures?.includes(one) ?? true);
      const others = architectures.filter((one) => !fitting.includes(one));
      if (others.length > 0)
        notes.push(
          `no machine code of ${name} for ${others.join(', ')}: it is for ${source.architectures!.join(', ')}`,
        );
      const code: CompiledCode[] = [];
      for (const architecture of fitting) {
        onStep?.(`compiling ${name} for ${architecture}`);
        code.push(await compiled(toolchain, candidate, architecture, signal));
      }
      kernels.push({ candidate, code, compared: unverifiedSizes ? undefined : compared[index] });
    }
    for (const architecture of architectures) requireSomeCode(architecture, kernels);
    return { kernels, notes };
  } finally {
    await toolchain.close?.();
  }
}

async function compiled(
  toolchain: Toolchain,
  candidate: Candidate,
  architecture: string,
  signal: AbortSignal | undefined,
): Promise<CompiledCode> {
  const outcome = await toolchain.compile({ candidate, architecture, signal });
  if (outcome.ok) return outcome.code;
  const { name } = candidate.kernel.file;
  const [first] = outcome.diagnostics.filter(({ severity }) => severity === 'error');
  const place = first?.location ? ` (${first.location.file}:${first.location.line})` : '';
  throw new WarpsmithError({
    code: 'does-not-compile',
    message: `${name} can't be compiled for ${architecture}: ${first?.message ?? outcome.message}${place}`,
    file: candidate.kernel.folder,
    received: `${toolchain.identity.name} ${toolchain.identity.version}: ${outcome.status}`,
    expected: 'machine code',
    hint: 'Choose architectures that the kernel and the compiler support with --arch.',
  });
}

function requireSomeCode(architecture: string, kernels: readonly PackagedKernel[]): void {
  if (kernels.some(({ code }) => code.some((one) => one.architecture === architecture))) return;
  const known = [...new Set(kernels.flatMap(({ candidate }) => candidate.kernel.file.source.architectures ?? []))];
  throw new WarpsmithError({
    code: 'no-code-for-architecture',
    message: `No kernel of the package is for ${architecture}.`,
    path: '--arch',
    received: architecture,
    expected: `one of ${known.join(', ')}`,
    hint: `Leave --arch ${architecture} out.`,
  });
}
