import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { userCacheFolder } from '../process/cache-file.ts';
import { type CheckedRequest, type CompilerRules, compileChecked } from './check-request.ts';
import { backEndArguments, frontEndArguments, SUPPORTED_ARCHITECTURES } from './clang-arguments.ts';
import { type CudaCompile, compileCuda } from './compile-cuda.ts';
import { compileKey } from './compile-key.ts';
import { compileOnce } from './compile-once.ts';
import { type CompileLimits, DEFAULT_COMPILE_LIMITS } from './compile-stage.ts';
import { type HeaderPack, openHeaderPack } from './header-pack.ts';
import { leaveOutHostCode } from './leave-out-host-code.ts';
import { type ClangCompiler, locateClang } from './locate-clang.ts';
import { openPrecompiledHeaders } from './precompiled-headers.ts';
import type { Toolchain } from './toolchain.ts';

export interface ClangToolchainOptions {
  /** Compiled code is kept here between runs. Default: the user's cache folder; see {@link userCacheFolder}. */
  cacheFolder?: string;
  /** So are parsed headers; by default in that cache folder, too. */
  parsedHeadersFolder?: string;
  limits?: Partial<CompileLimits>;
  /** Default: {@link locateClang}. */
  compiler?: ClangCompiler;
  /** Default: the pack shipped with warpsmith. */
  headers?: HeaderPack;
  /** A real GPU's driver, which compiles the PTX; absent on virtual devices. */
  driverVersion?: string;
}

/**
 * A toolchain that compiles CUDA C++ to PTX with clang and warpsmith's own device headers; no CUDA toolkit is needed.
 *
 * @throws WarpsmithError `no-compiler` (exit code 3) when no usable clang is installed.
 */
export async function createClangToolchain(options: ClangToolchainOptions = {}): Promise<Toolchain> {
  const compiler = options.compiler ?? (await locateClang({ knownIn: userCacheFolder('compilers') }));
  const environment: Environment = {
    compiler,
    headers: options.headers ?? openHeaderPack(),
    limits: { ...DEFAULT_COMPILE_LIMITS, ...options.limits },
    driverVersion: options.driverVersion,
    precompiledHeaders: openPrecompiledHeaders(options.parsedHeadersFolder ?? userCacheFolder('headers')),
  };
  const rules: CompilerRules = {
    name: 'clang',
    supports: (architecture) => SUPPORTED_ARCHITECTURES.includes(architecture),
    architectures: SUPPORTED_ARCHITECTURES,
    loadsCubins: options.driverVersion !== undefined,
  };
  const hasHeader = (name: string) => existsSync(join(environment.headers.folder, name));
  const compile = compileOnce(options.cacheFolder ?? userCacheFolder('compiled'), (prepared: CudaCompile) =>
    leaveOutHostCode(prepared, hasHeader, compileCuda),
  );
  return {
    identity: { name: 'clang', version: compiler.version, path: compiler.path },
    digest: () => `${compiler.fingerprint} ${environment.headers.digest()}`,
    compile: compileChecked(rules, (checked) => compile(prepare(checked, environment))),
  };
}

type Environment = Pick<CudaCompile, 'compiler' | 'headers' | 'limits' | 'precompiledHeaders'> & {
  driverVersion: string | undefined;
};

function prepare(checked: CheckedRequest, environment: Environment): CudaCompile {
  const { candidate, architecture, functions, settings, parameterMacros } = checked;
  const { compiler, headers, limits, precompiledHeaders, driverVersion } = environment;
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
    headerDigest: headers.digest(),
    compilerFingerprint: compiler.fingerprint,
    driverVersion,
  });
  return { ...checked, compiler, headers, limits, precompiledHeaders, key };
}
