import type { CompileOutcome } from '../core/compiled-code.ts';
import type { Candidate } from '../core/kernel.ts';
import { backEndArguments, frontEndArguments, SUPPORTED_ARCHITECTURES } from './clang-arguments.ts';
import { type CodeCache, openCodeCache } from './code-cache.ts';
import { type CompileLimits, type CudaCompile, compileCuda } from './compile-cuda.ts';
import { compileKey } from './compile-key.ts';
import { isFunctionName } from './function-symbols.ts';
import { type HeaderPack, openHeaderPack } from './header-pack.ts';
import { type ClangCompiler, locateClang } from './locate-clang.ts';
import { passThroughPtx } from './ptx-source.ts';
import { findForbiddenReferences } from './source-policy.ts';
import type { CompileRequest, Toolchain } from './toolchain.ts';
import { parseFlags } from './user-flags.ts';

export const DEFAULT_COMPILE_LIMITS: CompileLimits = {
  timeoutMs: 60_000,
  maximumMemoryBytes: 2 * 1024 ** 3,
  maximumOutputBytes: 64 * 1024 ** 2,
};

export interface ClangToolchainOptions {
  /** Compiled code is kept here between runs; in memory only when absent. */
  cacheFolder?: string;
  limits?: Partial<CompileLimits>;
  /** Default: {@link locateClang}. */
  compiler?: ClangCompiler;
  /** Default: the pack shipped with warpsmith. */
  headers?: HeaderPack;
}

/**
 * A toolchain that compiles CUDA C++ to PTX with clang and warpsmith's own device headers; no CUDA toolkit is needed.
 *
 * @throws WarpsmithError `no-compiler` (exit code 3) when no usable clang is installed.
 */
export async function createClangToolchain(options: ClangToolchainOptions = {}): Promise<Toolchain> {
  const compiler = options.compiler ?? (await locateClang());
  const headers = options.headers ?? openHeaderPack();
  const limits = { ...DEFAULT_COMPILE_LIMITS, ...options.limits };
  const cache = openCodeCache(options.cacheFolder);
  const inFlight = new Map<string, Promise<CompileOutcome>>();
  return {
    identity: { name: 'clang', version: compiler.version, path: compiler.path },
    async compile(request) {
      request.signal?.throwIfAborted();
      const startMs = performance.now();
      const prepared = prepare(request, { compiler, headers, limits });
      const outcome = 'ok' in prepared ? prepared : await compileOnce(prepared, cache, inFlight);
      return { ...outcome, elapsedMs: performance.now() - startMs };
    },
  };
}

/** Two requests for the same code at the same time share one compile, unless either may be aborted alone. */
async function compileOnce(
  compile: CudaCompile,
  cache: CodeCache,
  inFlight: Map<string, Promise<CompileOutcome>>,
): Promise<CompileOutcome> {
  const known = await cache.get(compile.key);
  if (known !== undefined) return { ok: true, code: known, cached: true, elapsedMs: 0 };
  const running = inFlight.get(compile.key);
  if (running !== undefined && compile.signal === undefined) return running;
  const started = compileCuda(compile).finally(() => inFlight.delete(compile.key));
  if (compile.signal === undefined) inFlight.set(compile.key, started);
  const outcome = await started;
  if (outcome.ok) await cache.put(outcome.code);
  return outcome;
}

type Environment = Pick<CudaCompile, 'compiler' | 'headers' | 'limits'>;

function prepare(request: CompileRequest, environment: Environment): CudaCompile | CompileOutcome {
  const { candidate, architecture } = request;
  const { source } = candidate.kernel.file;
  const functions = functionNames(candidate);
  if (source.architectures !== undefined && !source.architectures.includes(architecture)) {
    return refuse(
      'unsupported',
      `This kernel is for ${source.architectures.join(', ')}; the device is ${architecture}.`,
    );
  }
  if (source.kind === 'ptx') return passThroughPtx(candidate, architecture, functions);
  if (source.kind === 'cubin') return refuse('unsupported', 'clang emits PTX: a cubin needs a real GPU to load it.');
  return prepareCuda(request, functions, environment);
}

function prepareCuda(
  request: CompileRequest,
  functions: readonly string[],
  environment: Environment,
): CudaCompile | CompileOutcome {
  const { candidate, architecture, signal } = request;
  if (!SUPPORTED_ARCHITECTURES.includes(architecture)) {
    const known = SUPPORTED_ARCHITECTURES.join(', ');
    return refuse('unsupported', `clang is not set up for ${architecture}; it compiles for ${known}.`);
  }
  const badName = functions.find((name) => !isFunctionName(name));
  if (badName !== undefined) return refuse('invalid', `\`${badName}\` is not the name of a function.`);
  const { file, sources } = candidate.kernel;
  const flags = parseFlags(file.source.flags ?? [], Object.keys(file.parameters ?? {}));
  if (!flags.ok) {
    return refuse('invalid', `source.flags[${flags.index}]: \`${flags.flag}\` is refused: ${flags.reason}.`);
  }
  const forbidden = findForbiddenReferences(sources);
  if (forbidden.length > 0) {
    return { ok: false, status: 'invalid', message: forbidden[0]!.message, diagnostics: forbidden, elapsedMs: 0 };
  }
  const parameterMacros = Object.entries(candidate.parameters).map(([name, value]) => `-D${name}=${value}`);
  const { settings } = flags;
  const key = compileKey({
    candidate,
    architecture,
    functions,
    commandLines: [
      frontEndArguments(architecture, settings, parameterMacros, {
        unit: '',
        headerFolder: '',
        dependencyFile: '',
        includeFolders: [],
      }),
      backEndArguments(architecture, settings),
    ],
    headerDigest: environment.headers.digest(),
    compilerFingerprint: environment.compiler.fingerprint,
  });
  return { ...environment, candidate, architecture, settings, parameterMacros, functions, key, signal };
}

/** Every function that a step launches, once each. */
function functionNames(candidate: Candidate): string[] {
  const names = candidate.kernel.file.steps.flatMap((step) => ('function' in step ? [step.function] : []));
  return [...new Set(names)];
}

export function refuse(status: 'invalid' | 'unsupported' | 'compile-failed' | 'timed-out', message: string) {
  return { ok: false as const, status, message, diagnostics: [], elapsedMs: 0 };
}
