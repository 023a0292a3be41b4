import { realpathSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CompileFailure } from '../core/compiled-code.ts';
import type { Kernel } from '../core/kernel.ts';
import { type ProcessOutcome, runProcess } from '../process/run-process.ts';
import { liesWithin, parseDependencyFile } from './dependency-file.ts';
import type { CompileUnit } from './function-symbols.ts';
import { refuse, refuseFor } from './outcomes.ts';
import { type DiagnosticFolders, type RawDiagnostic, withoutOrigin } from './parse-diagnostics.ts';
import { locateComputedReference } from './source-policy.ts';
import { errorOfUnit, summarise, unsupportedUse } from './unit-errors.ts';

export interface CompileLimits {
  /** For the whole compile, both stages. */
  timeoutMs: number;
  maximumMemoryBytes: number;
  /** Of either stage's result and messages. */
  maximumOutputBytes: number;
}

/** What toolchains for a GPU are created with. */
export interface GpuToolchainOptions {
  limits?: Partial<CompileLimits>;
  /** Of a real GPU, e.g. `580.159.04`: the driver loads the result and may compile it. */
  driverVersion?: string;
  /** Machine code is kept here, too, for other processes that get the same folder; in memory only when absent. */
  codeFolder?: string | undefined;
}

export const DEFAULT_COMPILE_LIMITS: CompileLimits = {
  timeoutMs: 60_000,
  maximumMemoryBytes: 2 * 1024 ** 3,
  maximumOutputBytes: 64 * 1024 ** 2,
};

/** A temporary folder with only the files that one compile reads. */
export interface Workplace extends DiagnosticFolders {
  /** Where the compiler lists the files it read. */
  dependencies: string;
  compileUnit: CompileUnit;
}

/** unit.cu, and the kernel's files below kernel/. */
export async function layOut(
  { sources }: Kernel,
  compileUnit: CompileUnit,
  { working, headers }: Pick<DiagnosticFolders, 'working' | 'headers'>,
): Promise<Workplace> {
  const kernel = join(working, 'kernel');
  for (const [name, text] of Object.entries(sources)) {
    const path = join(kernel, name);
    if (!liesWithin(path, kernel)) throw new Error(`The source file ${name} lies outside its kernel's folder.`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const unit = join(working, 'unit.cu');
  await writeFile(unit, compileUnit.text);
  return { working, kernel, headers, unit, dependencies: join(working, 'dependencies'), compileUnit };
}

/** What a compiler is run with, beside its arguments. */
interface StageRunner {
  readonly command: string;
  /** Nothing of the caller's environment: compilers read include paths and more from variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: CompileLimits;
  readonly signal?: AbortSignal | undefined;
}

/** Runs one stage of a compile, which as a whole ends at the deadline. */
export async function runStage(
  { command, env, limits, signal }: StageRunner,
  place: Workplace,
  deadlineMs: number,
  { args, stdin }: { args: readonly string[]; stdin?: string },
): Promise<ProcessOutcome> {
  const outcome = await runProcess({
    command,
    args,
    cwd: place.working,
    env,
    stdin,
    timeoutMs: Math.max(1, deadlineMs - performance.now()),
    maximumOutputBytes: limits.maximumOutputBytes,
    maximumMemoryBytes: limits.maximumMemoryBytes,
    signal,
  });
  if (outcome.end === 'aborted') signal?.throwIfAborted();
  return outcome;
}

/** Checks files reached through macros, which the source text alone can't show. Messages must not show their content. */
export async function refuseOutsideFiles(
  kernel: Kernel,
  place: Workplace,
  headerFolders: readonly string[],
): Promise<CompileFailure | undefined> {
  const text = await readFile(place.dependencies, 'utf8').catch(() => '');
  const allowed = (path: string) =>
    path === place.unit || [place.kernel, ...headerFolders].some((folder) => liesWithin(path, folder));
  // A toolkit may be reached through links: then its real place is judged.
  const outside = parseDependencyFile(text, place.working).find((path) => !allowed(path) && !allowed(realPath(path)));
  if (outside === undefined) return undefined;
  const message = `The kernel reads \`${outside}\`; it can include only files of its own folder, listed in kernel.json, and the device headers.`;
  return refuseFor('invalid', message, locateComputedReference(kernel.sources));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The effect of a compiler's exit on the candidate; undefined if it succeeded. */
export function failureOfStage(
  outcome: ProcessOutcome,
  kernel: Kernel,
  unit: CompileUnit,
  limits: CompileLimits,
  read: () => readonly RawDiagnostic[],
): CompileFailure | undefined {
  switch (outcome.end) {
    case 'exited':
      return outcome.exitCode === 0 ? undefined : ownFailure(outcome, kernel, unit, limits, read());
    case 'timed-out':
      return tooMuchTime(limits);
    case 'memory-exceeded':
      return tooMuchMemory(limits);
    case 'output-exceeded':
      return refuse('compile-failed', `The compiler wrote more than ${mebibytes(limits.maximumOutputBytes)}.`);
    case 'not-started':
      throw new Error(`The compiler could not be started: ${outcome.stderr}`);
    default: {
      if (ranOutOfMemory(outcome)) return tooMuchMemory(limits);
      const first = outcome.stderr.split('\n').find((line) => line.trim() !== '') ?? '';
      const message = `The compiler crashed (${outcome.signal}): ${first}`;
      return refuse('compile-failed', message, read().map(withoutOrigin));
    }
  }
}

function ownFailure(
  outcome: ProcessOutcome,
  kernel: Kernel,
  unit: CompileUnit,
  limits: CompileLimits,
  raw: readonly RawDiagnostic[],
): CompileFailure {
  if (ranOutOfMemory(outcome)) return tooMuchMemory(limits);
  const diagnostics = raw.map(withoutOrigin);
  const unsupported = unsupportedUse(diagnostics);
  if (unsupported !== undefined) return refuse('unsupported', unsupported, diagnostics);
  return errorOfUnit(kernel, unit, raw) ?? refuse('compile-failed', summarise(diagnostics), diagnostics);
}

const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB`;

export const tooMuchTime = ({ timeoutMs }: CompileLimits): CompileFailure =>
  refuse('timed-out', `Compiling took longer than ${timeoutMs / 1000} s.`);

export const tooMuchMemory = ({ maximumMemoryBytes }: CompileLimits): CompileFailure =>
  refuse('compile-failed', `Compiling took more than ${mebibytes(maximumMemoryBytes)} of memory.`);

const ranOutOfMemory = (outcome: ProcessOutcome) =>
  /out of memory|bad_alloc|Cannot allocate memory|OutOfMemory/.test(outcome.stderr);
