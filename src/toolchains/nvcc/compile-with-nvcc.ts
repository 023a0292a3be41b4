import { readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CompileFailure, CompileOutcome } from '../../core/compiled-code.ts';
import type { ProcessOutcome } from '../../process/run-process.ts';
import { withTemporaryFolder } from '../../process/temporary-folder.ts';
import type { CheckedRequest } from '../check-request.ts';
import {
  type CompileLimits,
  failureOfStage,
  layOut,
  refuseOutsideFiles,
  runStage,
  type Workplace,
} from '../compile-stage.ts';
import { compiledFiles, generateUnit } from '../function-symbols.ts';
import { refuse, refuseFor } from '../outcomes.ts';
import { locateFile, parseDiagnostics, type RawDiagnostic, withoutOrigin } from '../parse-diagnostics.ts';
import { type Locate, parseEdgDiagnostics } from '../parse-edg-diagnostics.ts';
import { locateComputedReference } from '../source-policy.ts';
import { nameFilesAsUser } from '../tidy-ptx.ts';
import { unresolvedFunction } from '../unit-errors.ts';
import { type NvccCompiler, nvccEnvironment } from './locate-nvcc.ts';
import { cubinArguments, ptxArguments } from './nvcc-arguments.ts';
import { type NamedPtx, PROBE_TEMPLATE, symbolProbe, takeProbes } from './nvcc-symbols.ts';

export interface NvccCompile extends CheckedRequest {
  compiler: NvccCompiler;
  limits: CompileLimits;
  key: string;
}

/** Compiles in two stages, CUDA C++ → PTX → machine code, in a temporary folder that holds only the kernel's own files. */
export function compileWithNvcc(compile: NvccCompile): Promise<CompileOutcome> {
  return withTemporaryFolder(async (temporary) => {
    const deadlineMs = performance.now() + compile.limits.timeoutMs;
    const place = await layOutForNvcc(compile, await realpath(temporary));
    const front = await runNvcc(compile, place, deadlineMs, toPtx(compile, place));
    const { kernel } = compile.candidate;
    const failure =
      (await refuseOutsideFiles(kernel, place, compile.compiler.headerFolders)) ??
      (await refuseUnlisted(compile, place)) ??
      failureOf(compile, place, front);
    if (failure) return failure;

    const text = nameFilesAsUser(await readResult(compile, place, 'unit.ptx'), place.kernel);
    const named = takeProbes(text, compile.functions);
    const unnamed = compile.functions.find((name) => named.functionSymbols[name] === undefined);
    if (unnamed !== undefined) return unresolved(compile, unnamed);
    return assemble(compile, place, deadlineMs, named, front);
  });
}

/** The probes need C++17; before it only functions that are called as they are compiled can be named. */
const hasProbes = ({ settings }: NvccCompile) => Number(settings.languageStandard.slice(-2)) >= 17;

function layOutForNvcc(compile: NvccCompile, working: string): Promise<Workplace> {
  const { kernel } = compile.candidate;
  const probes = hasProbes(compile);
  const files = compiledFiles(kernel.file);
  const unit = generateUnit(files, compile.functions, {
    prologue: probes ? [PROBE_TEMPLATE] : [],
    probe: (name, index) => (probes ? symbolProbe(name, index) : undefined),
  });
  return layOut(kernel, unit, { working, headers: '' });
}

function toPtx({ architecture, settings, parameterMacros }: NvccCompile, place: Workplace): string[] {
  return ptxArguments(architecture, settings, parameterMacros, {
    unit: 'unit.cu',
    includeFolder: 'kernel',
    dependencyFile: place.dependencies,
    output: 'unit.ptx',
  });
}

const runNvcc = (
  { compiler, limits, signal }: NvccCompile,
  place: Workplace,
  deadlineMs: number,
  args: readonly string[],
): Promise<ProcessOutcome> =>
  runStage({ command: compiler.path, env: nvccEnvironment(place.working), limits, signal }, place, deadlineMs, {
    args,
  });

/** Without a list of the files that were read, a name made by a macro can't be judged. */
async function refuseUnlisted({ candidate }: NvccCompile, place: Workplace): Promise<CompileFailure | undefined> {
  const isListed = await stat(place.dependencies).then(
    () => true,
    () => false,
  );
  const location = isListed ? undefined : locateComputedReference(candidate.kernel.sources);
  if (location === undefined) return undefined;
  const message = "The name of an included file is made by a macro, and nvcc didn't tell which file it read.";
  return refuseFor('invalid', message, location);
}

function failureOf(compile: NvccCompile, place: Workplace, outcome: ProcessOutcome): CompileFailure | undefined {
  const failure = failureOfStage(outcome, compile.candidate.kernel, place.compileUnit, compile.limits, () =>
    readDiagnostics(compile, place, outcome),
  );
  // nvcc's own messages, such as an architecture it doesn't know.
  const own = /^nvcc (?:fatal|error)\s*: (.*)$/m.exec(outcome.stderr)?.[1];
  if (failure === undefined || failure.diagnostics.length > 0 || own === undefined) return failure;
  return outcome.end === 'exited' ? refuse('compile-failed', `nvcc says: ${own}`) : failure;
}

/** The device compiler's messages, and the host preprocessor's. */
function readDiagnostics({ compiler }: NvccCompile, place: Workplace, outcome: ProcessOutcome): RawDiagnostic[] {
  const text = outcome.stdout + outcome.stderr;
  const locate: Locate = (file, line) => locateFile(file, line, undefined, place, compiler.headerFolders);
  return [...parseDiagnostics(text, place), ...parseEdgDiagnostics(text, locate)];
}

async function readResult({ limits }: NvccCompile, place: Workplace, name: string): Promise<string> {
  const path = join(place.working, name);
  const { size } = await stat(path);
  if (size > limits.maximumOutputBytes) throw new Error(`nvcc wrote ${size} bytes of ${name}.`);
  return readFile(path, name.endsWith('.cubin') ? 'base64' : 'utf8');
}

function unresolved(compile: NvccCompile, name: string): CompileFailure {
  const reason = hasProbes(compile)
    ? "nvcc doesn't tell its symbol"
    : `nvcc can name templates and C++ functions from C++17 on, not in ${compile.settings.languageStandard}; declare it extern "C"`;
  return unresolvedFunction(compile.candidate.kernel, name, reason);
}

async function assemble(
  compile: NvccCompile,
  place: Workplace,
  deadlineMs: number,
  { ptx, functionSymbols }: NamedPtx,
  front: ProcessOutcome,
): Promise<CompileOutcome> {
  await writeFile(join(place.working, 'kernel.ptx'), ptx);
  const { architecture, compiler, settings, key } = compile;
  const args = cubinArguments(architecture, settings, { ptx: 'kernel.ptx', output: 'kernel.cubin' });
  const back = await runNvcc(compile, place, deadlineMs, args);
  const failure = failureOf(compile, place, back);
  if (failure) return failure;
  const text = await readResult(compile, place, 'kernel.cubin');
  const diagnostics = [front, back].flatMap((stage) => readDiagnostics(compile, place, stage)).map(withoutOrigin);
  const code = { kind: 'cubin' as const, text, ptx, architecture, functionSymbols, key, diagnostics };
  return {
    ok: true,
    code: { ...code, compiler: { name: 'nvcc', version: compiler.version } },
    cached: false,
    elapsedMs: 0,
  };
}
