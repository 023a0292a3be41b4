import type { CompileFailure, CompileOutcome, Diagnostic } from '../core/compiled-code.ts';
import type { Candidate } from '../core/kernel.ts';
import { functionsOf } from '../core/plan/declared-steps.ts';
import { assignments } from '../core/values.ts';
import { findUnfilledConstants } from '../cuda-source/cut.ts';
import { findDeviceLaunches } from './device-launches.ts';
import { isFunctionName } from './function-symbols.ts';
import { refuse } from './outcomes.ts';
import { passThrough } from './precompiled.ts';
import { findForbiddenReferences } from './source-policy.ts';
import type { CompileRequest } from './toolchain.ts';
import { type CompileSettings, parseFlags } from './user-flags.ts';

/** A compiler's limits, by which unsupported requests are refused. */
export interface CompilerRules {
  /** As in messages: `clang`, `NVRTC`, `nvcc`. */
  readonly name: string;
  supports(architecture: string): boolean;
  /** Every architecture it compiles for, for messages. */
  readonly architectures: readonly string[];
  /** A real GPU loads machine code; a virtual one runs PTX only. */
  readonly loadsCubins: boolean;
}

/** A CUDA C++ candidate whose names, flags and file references are as they must be. */
export interface CheckedRequest {
  readonly candidate: Candidate;
  readonly architecture: string;
  readonly settings: CompileSettings;
  /** `-DNAME=value` per parameter. */
  readonly parameterMacros: readonly string[];
  readonly functions: readonly string[];
  readonly signal: AbortSignal | undefined;
}

/** `compile` of a toolchain with these rules: checks the request, has `run` do the rest, and takes the time of both. */
export const compileChecked =
  (rules: CompilerRules, run: (checked: CheckedRequest) => CompileOutcome | Promise<CompileOutcome>) =>
  async (request: CompileRequest): Promise<CompileOutcome> => {
    request.signal?.throwIfAborted();
    const startMs = performance.now();
    const checked = checkRequest(request, rules);
    const outcome = 'ok' in checked ? checked : await run(checked);
    return { ...outcome, elapsedMs: performance.now() - startMs };
  };

/** What every compiler checks before it runs; kernels that are compiled already pass through. */
function checkRequest(request: CompileRequest, rules: CompilerRules): CheckedRequest | CompileOutcome {
  const { candidate, architecture } = request;
  const { source } = candidate.kernel.file;
  const functions = functionsOf(candidate.kernel.file.steps);
  if (source.architectures !== undefined && !source.architectures.includes(architecture)) {
    return refuse(
      'unsupported',
      `This kernel is for ${source.architectures.join(', ')}; the device is ${architecture}.`,
    );
  }
  if (source.kind === 'cuda') return checkCuda(request, functions, rules);
  if (source.kind === 'cubin' && !rules.loadsCubins)
    return refuse('unsupported', 'A cubin is machine code: it needs a real GPU to run on.');
  return passThrough(source.kind, candidate, architecture, functions);
}

function checkCuda(
  request: CompileRequest,
  functions: readonly string[],
  rules: CompilerRules,
): CheckedRequest | CompileOutcome {
  const { candidate, architecture, signal } = request;
  if (!rules.supports(architecture)) {
    const known = rules.architectures.join(', ');
    return refuse('unsupported', `${rules.name} is not set up for ${architecture}; it compiles for ${known}.`);
  }
  const badName = functions.find((name) => !isFunctionName(name));
  if (badName !== undefined) return refuse('invalid', `\`${badName}\` is not the name of a function.`);
  const { file, sources } = candidate.kernel;
  const flags = parseFlags(file.source.flags ?? [], Object.keys(file.parameters ?? {}));
  if (!flags.ok) {
    return refuse('invalid', `source.flags[${flags.index}]: \`${flags.flag}\` is refused: ${flags.reason}.`);
  }
  const forbidden = [
    ...findForbiddenReferences(sources),
    ...findDeviceLaunches(sources),
    ...unfilledConstants(sources, functions),
  ];
  const refused = refuseReferences(forbidden);
  if (refused) return refused;
  const parameterMacros = assignments(candidate.parameters).map((assignment) => `-D${assignment}`);
  return { candidate, architecture, settings: flags.settings, parameterMacros, functions, signal };
}

/** Refuses what may not be read; nothing if there is nothing. */
export const refuseReferences = (forbidden: readonly Diagnostic[]): CompileFailure | undefined =>
  forbidden[0] && refuse('invalid', forbidden[0].message, forbidden);

const unfilledConstants = (sources: Readonly<Record<string, string>>, functions: readonly string[]): Diagnostic[] =>
  findUnfilledConstants(sources, functions).map(({ name, file, line }) => ({
    severity: 'error',
    message:
      `nobody fills \`${name}\`: it is __constant__ memory without an initialiser, and no host code runs. ` +
      `Name a buffer for it in kernel.json, or its values: "constants": { "${name}": "an input" }`,
    location: { file, line },
  }));
