import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CompiledCode, CompileOutcome, Diagnostic } from '../core/compiled-code.ts';
import type { Candidate } from '../core/kernel.ts';
import { type ProcessOutcome, runProcess } from '../process/run-process.ts';
import { withTemporaryFolder } from '../process/temporary-folder.ts';
import { backEndArguments, frontEndArguments } from './clang-arguments.ts';
import { liesWithin, parseDependencyFile } from './dependency-file.ts';
import { type CompileUnit, compiledFiles, generateUnit, takeFunctionSymbols } from './function-symbols.ts';
import type { HeaderPack } from './header-pack.ts';
import type { ClangCompiler } from './locate-clang.ts';
import { type DiagnosticFolders, parseDiagnostics } from './parse-diagnostics.ts';
import { locateComputedReference } from './source-policy.ts';
import { limitRegisters, nameFilesAsUser } from './tidy-ptx.ts';
import { errorOfUnit, summarise } from './unit-errors.ts';
import type { CompileSettings } from './user-flags.ts';
import { widenCopies } from './widen-copies.ts';

export interface CompileLimits {
  /** For the whole compile, both stages. */
  timeoutMs: number;
  maximumMemoryBytes: number;
  /** Of either stage's result and messages. */
  maximumOutputBytes: number;
}

/** What the compile of one candidate needs, once everything about it has been checked. */
export interface CudaCompile {
  compiler: ClangCompiler;
  headers: HeaderPack;
  limits: CompileLimits;
  candidate: Candidate;
  architecture: string;
  settings: CompileSettings;
  /** `-DNAME=value` per parameter. */
  parameterMacros: readonly string[];
  functions: readonly string[];
  key: string;
  signal: AbortSignal | undefined;
}

type Failure = Extract<CompileOutcome, { ok: false }>;
interface Workplace extends DiagnosticFolders {
  dependencies: string;
  compileUnit: CompileUnit;
}

/** Compiles in two stages, CUDA C++ → LLVM IR → PTX, in a temporary folder that holds only the kernel's own files. */
export function compileCuda(compile: CudaCompile): Promise<CompileOutcome> {
  return withTemporaryFolder(async (temporary) => {
    const deadlineMs = performance.now() + compile.limits.timeoutMs;
    const place = await layOut(compile, await realpath(temporary));
    const front = await runStage(compile, place, deadlineMs, frontEnd(compile, place));
    const outside = await refuseOutsideFiles(compile, place);
    if (outside) return outside;
    const failure = failureOf(compile, place, front);
    if (failure) return failure;
    const warnings = readDiagnostics(front, place);

    const { ir, functionSymbols } = takeFunctionSymbols(front.stdout, compile.functions);
    const back = await runStage(compile, place, deadlineMs, {
      args: backEndArguments(compile.architecture, compile.settings),
      stdin: widenCopies(ir),
    });
    return failureOf(compile, place, back) ?? success(compile, place, back.stdout, functionSymbols, warnings);
  });
}

/** unit.cu, and the kernel's files below kernel/. */
async function layOut(compile: CudaCompile, working: string): Promise<Workplace> {
  const kernel = join(working, 'kernel');
  const { file, sources } = compile.candidate.kernel;
  for (const [name, text] of Object.entries(sources)) {
    const path = join(kernel, name);
    if (!liesWithin(path, kernel)) throw new Error(`The source file ${name} lies outside its kernel's folder.`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const unit = generateUnit(compiledFiles(file), compile.functions);
  const unitPath = join(working, 'unit.cu');
  await writeFile(unitPath, unit.text);
  return {
    working,
    kernel,
    headers: await realpath(compile.headers.folder),
    unit: unitPath,
    dependencies: join(working, 'dependencies'),
    compileUnit: unit,
  };
}

function frontEnd(compile: CudaCompile, place: Workplace): { args: string[] } {
  const args = frontEndArguments(compile.architecture, compile.settings, compile.parameterMacros, {
    unit: 'unit.cu',
    headerFolder: place.headers,
    dependencyFile: place.dependencies,
    includeFolders: ['kernel'],
  });
  return { args };
}

async function runStage(
  compile: CudaCompile,
  place: Workplace,
  deadlineMs: number,
  stage: { args: string[]; stdin?: string },
): Promise<ProcessOutcome> {
  const { compiler, limits, signal } = compile;
  const outcome = await runProcess({
    command: compiler.path,
    args: [...compiler.prefix, ...stage.args],
    cwd: place.working,
    // Nothing of the caller's environment: clang reads include paths and more from variables.
    env: { LANG: 'C.UTF-8', TMPDIR: place.working, HOME: place.working },
    ...(stage.stdin === undefined ? {} : { stdin: stage.stdin }),
    timeoutMs: Math.max(1, deadlineMs - performance.now()),
    maximumOutputBytes: limits.maximumOutputBytes,
    maximumMemoryBytes: limits.maximumMemoryBytes,
    signal,
  });
  if (outcome.end === 'aborted') signal?.throwIfAborted();
  return outcome;
}

/** What the text alone can't show: files reached through macros. Their content must not come back in messages either. */
async function refuseOutsideFiles(compile: CudaCompile, place: Workplace): Promise<Failure | undefined> {
  const text = await readFile(place.dependencies, 'utf8').catch(() => '');
  const allowed = (path: string) =>
    path === place.unit || liesWithin(path, place.kernel) || liesWithin(path, place.headers);
  const outside = parseDependencyFile(text, place.working).find((path) => !allowed(path));
  if (outside === undefined) return undefined;
  const message = `The kernel reads \`${outside}\`; it can include only files of its own folder, listed in kernel.json, and the device headers.`;
  const location = locateComputedReference(compile.candidate.kernel.sources);
  const diagnostic: Diagnostic = { severity: 'error', message, ...(location === undefined ? {} : { location }) };
  return { ok: false, status: 'invalid', message, diagnostics: [diagnostic], elapsedMs: 0 };
}

function failureOf(compile: CudaCompile, place: Workplace, outcome: ProcessOutcome): Failure | undefined {
  const fail = (status: Failure['status'], message: string, diagnostics: readonly Diagnostic[] = []): Failure => ({
    ok: false,
    status,
    message,
    diagnostics,
    elapsedMs: 0,
  });
  const { limits } = compile;
  const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB`;
  const diagnostics = readDiagnostics(outcome, place);
  switch (outcome.end) {
    case 'exited':
      if (outcome.exitCode === 0) return undefined;
      if (ranOutOfMemory(outcome)) {
        return fail('compile-failed', `Compiling took more than ${mebibytes(limits.maximumMemoryBytes)} of memory.`);
      }
      return unitFailure(compile, place, outcome) ?? fail('compile-failed', summarise(diagnostics), diagnostics);
    case 'timed-out':
      return fail('timed-out', `Compiling took longer than ${limits.timeoutMs / 1000} s.`);
    case 'memory-exceeded':
      return fail('compile-failed', `Compiling took more than ${mebibytes(limits.maximumMemoryBytes)} of memory.`);
    case 'output-exceeded':
      return fail('compile-failed', `The compiler wrote more than ${mebibytes(limits.maximumOutputBytes)}.`);
    case 'not-started':
      throw new Error(`The compiler could not be started: ${outcome.stderr}`);
    default: {
      if (ranOutOfMemory(outcome)) {
        return fail('compile-failed', `Compiling took more than ${mebibytes(limits.maximumMemoryBytes)} of memory.`);
      }
      const first = outcome.stderr.split('\n').find((line) => line.trim() !== '') ?? '';
      return fail('compile-failed', `The compiler crashed (${outcome.signal}): ${first}`, diagnostics);
    }
  }
}

const ranOutOfMemory = (outcome: ProcessOutcome) =>
  /out of memory|bad_alloc|Cannot allocate memory|OutOfMemory/.test(outcome.stderr);

function readDiagnostics(outcome: ProcessOutcome, place: Workplace): Diagnostic[] {
  return parseDiagnostics(outcome.stderr, place).map(({ origin: _origin, ...diagnostic }) => diagnostic);
}

function unitFailure(compile: CudaCompile, place: Workplace, outcome: ProcessOutcome): Failure | undefined {
  return errorOfUnit(compile.candidate.kernel, place.compileUnit, parseDiagnostics(outcome.stderr, place));
}

function success(
  compile: CudaCompile,
  place: Workplace,
  text: string,
  functionSymbols: Record<string, string>,
  diagnostics: readonly Diagnostic[],
): CompileOutcome {
  const named = nameFilesAsUser(text, place.kernel);
  const { maximumRegisters } = compile.settings;
  const ptx = maximumRegisters === undefined ? named : limitRegisters(named, maximumRegisters);
  if (/^\s*\.(?:incbin|include)\b/m.test(ptx)) {
    const message = 'Inline assembly that reads files (.incbin, .include) is refused.';
    return { ok: false, status: 'invalid', message, diagnostics: [{ severity: 'error', message }], elapsedMs: 0 };
  }
  const code: CompiledCode = {
    kind: 'ptx',
    text: ptx,
    architecture: compile.architecture,
    compiler: { name: 'clang', version: compile.compiler.version },
    functionSymbols,
    key: compile.key,
    diagnostics,
  };
  return { ok: true, code, cached: false, elapsedMs: 0 };
}
