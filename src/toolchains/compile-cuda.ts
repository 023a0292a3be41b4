import { realpath } from 'node:fs/promises';
import type { CompileFailure, CompileOutcome, Diagnostic } from '../core/compiled-code.ts';
import { untilAborted } from '../core/until-aborted.ts';
import type { ProcessOutcome } from '../process/run-process.ts';
import { withTemporaryFolder } from '../process/temporary-folder.ts';
import type { CheckedRequest } from './check-request.ts';
import { backEndArguments, frontEndArguments } from './clang-arguments.ts';
import { failureOfStage, layOut, refuseOutsideFiles, runStage, type Workplace } from './compile-stage.ts';
import {
  compiledFiles,
  generateUnit,
  hideOtherKernels,
  hideStructTakers,
  takeFunctionSymbols,
} from './function-symbols.ts';
import { refuseFor } from './outcomes.ts';
import { parseDiagnostics, withoutOrigin } from './parse-diagnostics.ts';
import type { HeaderRequest, PrecompiledHeaders } from './precompiled-headers.ts';
import { limitRegisters, nameFilesAsUser } from './tidy-ptx.ts';
import { widenCopies } from './widen-copies.ts';

/** Checked input for the compile of one candidate. */
export interface CudaCompile extends CheckedRequest, HeaderRequest {
  precompiledHeaders: PrecompiledHeaders;
  key: string;
}

/** Compiles in two stages, CUDA C++ → LLVM IR → PTX, in a temporary folder that holds only the kernel's own files. */
export function compileCuda(compile: CudaCompile): Promise<CompileOutcome> {
  return withTemporaryFolder(async (temporary) => {
    const deadlineMs = performance.now() + compile.limits.timeoutMs;
    const place = await layOutForClang(compile, await realpath(temporary));
    const front = await runFrontEnd(compile, place, deadlineMs);
    const outside = await refuseOutsideFiles(compile.candidate.kernel, place, [place.headers]);
    if (outside) return outside;
    const failure = failureOf(compile, place, front);
    if (failure) return failure;
    const warnings = parseDiagnostics(front.stderr, place).map(withoutOrigin);

    const { ir, functionSymbols } = takeFunctionSymbols(front.stdout, compile.functions);
    const back = await runBackEnd(compile, place, deadlineMs, hideStructTakers(hideOtherKernels(ir, functionSymbols)));
    const failed = failureOf(compile, place, back.outcome);
    return failed ?? success(compile, place, back.outcome.stdout, functionSymbols, [...warnings, ...back.notes]);
  });
}

/** With 16-byte copies; without, if clang crashes over them. */
async function runBackEnd(
  compile: CudaCompile,
  place: Workplace,
  deadlineMs: number,
  ir: string,
): Promise<{ outcome: ProcessOutcome; notes: Diagnostic[] }> {
  const args = backEndArguments(compile.architecture, compile.settings);
  const widened = widenCopies(ir);
  const outcome = await runClang(compile, place, deadlineMs, { args, stdin: widened });
  if (outcome.end !== 'signaled' || widened === ir) return { outcome, notes: [] };
  const message = `clang crashed (${outcome.signal}) over 16-byte copies of structs; they are 8-byte accesses here`;
  const narrow = await runClang(compile, place, deadlineMs, { args, stdin: ir });
  return { outcome: narrow, notes: [{ severity: 'note', message }] };
}

async function layOutForClang(compile: CudaCompile, working: string): Promise<Workplace> {
  const { kernel } = compile.candidate;
  const unit = generateUnit(compiledFiles(kernel.file), compile.functions);
  return layOut(kernel, unit, { working, headers: await realpath(compile.headers.folder) });
}

/**
 * With headers parsed beforehand where there are such. What fails with them is compiled again without: no message depends on
 * what was parsed when, and a damaged file of parsed headers costs time only.
 */
async function runFrontEnd(compile: CudaCompile, place: Workplace, deadlineMs: number): Promise<ProcessOutcome> {
  const { architecture, settings, parameterMacros } = compile;
  const paths = {
    unit: 'unit.cu',
    headerFolder: place.headers,
    dependencyFile: place.dependencies,
    includeFolders: ['kernel'],
  };
  const run = (precompiled?: string): Promise<ProcessOutcome> => {
    const args = frontEndArguments(architecture, settings, parameterMacros, { ...paths, precompiled });
    return runClang(compile, place, deadlineMs, { args });
  };
  const precompiled = await untilAborted(compile.precompiledHeaders(compile, place.headers), compile.signal);
  if (precompiled === undefined) return run();
  const outcome = await run(precompiled);
  const failed = outcome.end === 'signaled' || (outcome.end === 'exited' && outcome.exitCode !== 0);
  return failed ? run() : outcome;
}

function runClang(
  { compiler, limits, signal }: CudaCompile,
  place: Workplace,
  deadlineMs: number,
  { args, stdin }: { args: readonly string[]; stdin?: string },
): Promise<ProcessOutcome> {
  const env = { LANG: 'C.UTF-8', TMPDIR: place.working, HOME: place.working };
  const runner = { command: compiler.path, env, limits, signal };
  return runStage(runner, place, deadlineMs, { args: [...compiler.prefix, ...args], stdin });
}

function failureOf(compile: CudaCompile, place: Workplace, outcome: ProcessOutcome): CompileFailure | undefined {
  const diagnostics = () => parseDiagnostics(outcome.stderr, place);
  return failureOfStage(outcome, compile.candidate.kernel, place.compileUnit, compile.limits, diagnostics);
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
  if (/^\s*\.(?:incbin|include)\b/m.test(ptx))
    return refuseFor('invalid', 'Inline assembly that reads files (.incbin, .include) is refused.');
  const code = {
    kind: 'ptx' as const,
    text: ptx,
    architecture: compile.architecture,
    compiler: { name: 'clang', version: compile.compiler.version },
    functionSymbols,
    key: compile.key,
    diagnostics,
  };
  return { ok: true, code, cached: false, elapsedMs: 0 };
}
