import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import type { CompiledCode, CompileFailure, CompileOutcome, Diagnostic } from '../../core/compiled-code.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Kernel } from '../../core/kernel.ts';
import { sha256 } from '../../process/sha256.ts';
import { type CheckedRequest, type CompilerRules, compileChecked, refuseReferences } from '../check-request.ts';
import { compileKey } from '../compile-key.ts';
import { compileOnce } from '../compile-once.ts';
import {
  type CompileLimits,
  DEFAULT_COMPILE_LIMITS,
  type GpuToolchainOptions,
  tooMuchMemory,
  tooMuchTime,
} from '../compile-stage.ts';
import { liesWithin } from '../dependency-file.ts';
import type { CompileUnit } from '../function-symbols.ts';
import { findHeaderFolder } from '../header-pack.ts';
import { leaveOutHostCode } from '../leave-out-host-code.ts';
import { refuse } from '../outcomes.ts';
import { type RawDiagnostic, withoutOrigin } from '../parse-diagnostics.ts';
import { type Locate, parseEdgDiagnostics } from '../parse-edg-diagnostics.ts';
import type { Toolchain } from '../toolchain.ts';
import { errorOfUnit, summarise, unresolvedFunction } from '../unit-errors.ts';
import { locateNvrtc, type NvrtcInstallation } from './locate-nvrtc.ts';
import { nvrtcArguments } from './nvrtc-arguments.ts';
import { type NvrtcEnd, type NvrtcLimits, NvrtcProcess } from './nvrtc-process.ts';
import {
  findUncheckableReferences,
  isHeaderFor,
  kernelHeaders,
  type NamedTexts,
  nvrtcUnit,
  readStandardHeaders,
  UNIT_NAME,
} from './program.ts';
import type { NvrtcDescription, NvrtcOutcome, NvrtcProgram } from './protocol.ts';

export interface NvrtcToolchainOptions extends GpuToolchainOptions {
  /** Default: {@link locateNvrtc}. */
  installation?: NvrtcInstallation;
}

interface NvrtcCompile extends CheckedRequest {
  key: string;
  options: readonly string[];
}

interface Compiler {
  installation: NvrtcInstallation;
  description: NvrtcDescription;
  process: NvrtcPool;
  limits: CompileLimits;
  standardHeaders: NamedTexts;
  headerDigest: string;
  compilerFingerprint: string;
  driverVersion: string | undefined;
}

const START_TIMEOUT_MS = 30_000;

/**
 * A toolchain that compiles CUDA C++ to machine code with NVRTC and the toolkit's headers, in processes of its own that
 * stay warm.
 *
 * @throws WarpsmithError `no-nvrtc` (exit code 3) when it isn't installed, `missing-library` when it doesn't load.
 */
export async function createNvrtcToolchain(options: NvrtcToolchainOptions = {}): Promise<Toolchain> {
  const installation = options.installation ?? (await locateNvrtc());
  const process = new NvrtcPool(installation.path);
  const description = await describeOrClose(process, installation);
  const standardHeaders = readStandardHeaders(findHeaderFolder());
  const compiler: Compiler = {
    installation,
    description,
    process,
    limits: { ...DEFAULT_COMPILE_LIMITS, ...options.limits },
    standardHeaders,
    headerDigest: sha256(JSON.stringify([installation.headerVersion, ...standardHeaders.flat()])),
    compilerFingerprint: sha256(JSON.stringify([description.version, installation.fingerprint])),
    driverVersion: options.driverVersion,
  };
  const { version, computeCapabilities } = description;
  const rules: CompilerRules = {
    name: `NVRTC ${version}`,
    supports: (architecture) => computeCapabilities.includes(Number(/^sm_(\d+)[af]?$/.exec(architecture)?.[1])),
    architectures: computeCapabilities.map((capability) => `sm_${capability}`),
    loadsCubins: true,
  };
  const hasHeader = (name: string) => isHeaderFor(installation.includeFolders, name);
  const compile = compileOnce(options.codeFolder, (request: NvrtcCompile) =>
    leaveOutHostCode(request, hasHeader, (wanted) => compileProgram(wanted, compiler)),
  );
  return {
    identity: { name: 'nvrtc', version, path: installation.path },
    compile: compileChecked(rules, (checked) => {
      const prepared = prepare(checked, compiler);
      return 'ok' in prepared ? prepared : compile(prepared);
    }),
    close: () => process.close(),
  };
}

async function describeOrClose(process: NvrtcPool, installation: NvrtcInstallation): Promise<NvrtcDescription> {
  try {
    return await process.describe(START_TIMEOUT_MS);
  } catch (error) {
    await process.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new WarpsmithError(
      {
        code: 'broken-nvrtc',
        message: `NVRTC does not work: ${reason}`,
        received: installation.path,
        expected: 'a libnvrtc.so of CUDA 12 or newer',
        hint: 'Name another one in WARPSMITH_NVRTC, or use --toolchain nvcc or clang.',
      },
      3,
    );
  }
}

function prepare(checked: CheckedRequest, compiler: Compiler): NvrtcCompile | CompileOutcome {
  const { candidate, architecture, functions, settings, parameterMacros } = checked;
  const { installation, headerDigest, compilerFingerprint, driverVersion } = compiler;
  const refused = refuseReferences(findUncheckableReferences(candidate.kernel, installation.includeFolders));
  if (refused) return refused;
  const options = nvrtcArguments(architecture, settings, parameterMacros, installation.includeFolders);
  const key = compileKey({
    candidate,
    architecture,
    functions,
    commandLines: [['nvrtc', 'cubin', ...options]],
    headerDigest,
    compilerFingerprint,
    driverVersion,
  });
  return { ...checked, key, options };
}

async function compileProgram(compile: NvrtcCompile, compiler: Compiler): Promise<CompileOutcome> {
  const { kernel } = compile.candidate;
  const unit = nvrtcUnit(kernel);
  const own = kernelHeaders(kernel);
  const names = new Set(own.map(([name]) => name));
  const { limits } = compiler;
  const program = {
    unit: unit.text,
    unitName: UNIT_NAME,
    headers: [...own, ...compiler.standardHeaders.filter(([name]) => !names.has(name))],
    options: compile.options,
    functions: compile.functions,
  };
  const ended = await compiler.process.compile(program, limits, compile.signal);
  switch (ended.end) {
    case 'finished':
      return judge(compile, compiler, unit, ended.outcome);
    case 'timed-out':
      return tooMuchTime(limits);
    case 'memory-exceeded':
      return tooMuchMemory(limits);
    case 'crashed':
      return refuse('compile-failed', `The compiler crashed (${ended.how}).`);
  }
}

function judge(compile: NvrtcCompile, compiler: Compiler, unit: CompileUnit, outcome: NvrtcOutcome): CompileOutcome {
  const { kernel } = compile.candidate;
  const raw = parseEdgDiagnostics(outcome.log, locateIn(kernel, compiler));
  const diagnostics = raw.map(withoutOrigin);
  if (outcome.ok)
    return { ok: true, code: codeOf(compile, compiler, outcome, diagnostics), cached: false, elapsedMs: 0 };
  const known = errorOfNames(kernel, outcome.log, raw) ?? errorOfUnit(kernel, unit, raw);
  if (known) return known;
  const message = diagnostics.length > 0 ? summarise(diagnostics) : `NVRTC: ${outcome.code}. ${outcome.log.trim()}`;
  return refuse('compile-failed', message, diagnostics);
}

function codeOf(
  compile: NvrtcCompile,
  { description }: Compiler,
  outcome: Extract<NvrtcOutcome, { ok: true }>,
  diagnostics: readonly Diagnostic[],
): CompiledCode {
  return {
    kind: 'cubin',
    text: Buffer.from(outcome.cubin).toString('base64'),
    ptx: nameSources(outcome.ptx, compile.candidate.kernel),
    architecture: compile.architecture,
    compiler: { name: 'nvrtc', version: description.version },
    functionSymbols: outcome.symbols,
    key: compile.key,
    diagnostics,
  };
}

/** NVRTC names the texts it was given as files of the folder it runs in, the root. */
const nameSources = (ptx: string, { sources }: Kernel): string =>
  ptx.replaceAll(/^([ \t]*\.file[ \t]+\d+ )"\/([^"]+)"/gm, (line, head: string, name: string) =>
    name in sources ? `${head}"${name}"` : line,
  );

/** Where NVRTC resolves the names it was asked for; below a message it shows the line, with the name as we gave it. */
const NAME_MAP = '__nv_name_map';
const NAME_LINE = /^\s*#pragma nv_mangled_name (.*?)\s*$/m;

function errorOfNames(kernel: Kernel, log: string, diagnostics: readonly RawDiagnostic[]): CompileFailure | undefined {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length === 0 || errors.some(({ location }) => location?.file !== NAME_MAP)) return undefined;
  const name = NAME_LINE.exec(log)?.[1];
  return name === undefined ? undefined : unresolvedFunction(kernel, name, errors[0]!.message);
}

function locateIn(kernel: Kernel, { installation, standardHeaders }: Compiler): Locate {
  return (file, line) => {
    const at = (shown: string) => ({ file: shown, line });
    if (file === UNIT_NAME) return { origin: 'unit', location: at(file) };
    if (file === NAME_MAP) return { origin: 'none', location: at(file) };
    if (file in kernel.sources) return { origin: 'kernel', location: at(file) };
    const folder = installation.includeFolders.find((include) => isAbsolute(file) && liesWithin(file, include));
    if (folder !== undefined) return { origin: 'headers', location: at(file.slice(folder.length + 1)) };
    if (standardHeaders.some(([name]) => name === file)) return { origin: 'headers', location: at(file) };
    // No other file is read: the name comes from a #line directive.
    return { origin: 'kernel', location: at(file) };
  };
}

/** A process takes some 300 MB and one core while it compiles. */
const MOST_PROCESSES = 8;

/** Processes that compile side by side; each is started when all before it are busy. */
class NvrtcPool {
  readonly #processes: { process: NvrtcProcess; waiting: number }[];

  constructor(libraryPath: string) {
    const count = Math.max(1, Math.min(MOST_PROCESSES, Math.floor(availableParallelism() / 2)));
    this.#processes = Array.from({ length: count }, () => ({ process: new NvrtcProcess(libraryPath), waiting: 0 }));
  }

  /** As {@link NvrtcProcess.describe}. */
  describe(timeoutMs: number): Promise<NvrtcDescription> {
    return this.#processes[0]!.process.describe(timeoutMs);
  }

  /** As {@link NvrtcProcess.compile}, in the process with the least to do. */
  async compile(program: NvrtcProgram, limits: NvrtcLimits, signal: AbortSignal | undefined): Promise<NvrtcEnd> {
    const idlest = this.#processes.reduce((best, other) => (other.waiting < best.waiting ? other : best));
    idlest.waiting += 1;
    try {
      return await idlest.process.compile(program, limits, signal);
    } finally {
      idlest.waiting -= 1;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map(({ process }) => process.close()));
  }
}
