import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type CheckedRequest, type CompilerRules, compileChecked } from '../check-request.ts';
import { compileKey } from '../compile-key.ts';
import { compileOnce } from '../compile-once.ts';
import { DEFAULT_COMPILE_LIMITS, type GpuToolchainOptions } from '../compile-stage.ts';
import { leaveOutHostCode } from '../leave-out-host-code.ts';
import type { Toolchain } from '../toolchain.ts';
import { compileWithNvcc, type NvccCompile } from './compile-with-nvcc.ts';
import { locateNvcc, type NvccCompiler } from './locate-nvcc.ts';
import { cubinArguments, ptxArguments } from './nvcc-arguments.ts';

export interface NvccToolchainOptions extends GpuToolchainOptions {
  /** Default: {@link locateNvcc}. */
  compiler?: NvccCompiler;
}

/** Architectures known to nvcc of CUDA 12 and 13. nvcc itself reports those that its version lacks. */
const ARCHITECTURE = /^sm_(?:75|8[06789]|9[0]a?|1[0-2]\d[af]?)$/;

/**
 * A toolchain that compiles CUDA C++ to machine code with nvcc, from PTX that is kept.
 *
 * @throws WarpsmithError `no-nvcc` or `broken-nvcc` (exit code 3).
 */
export async function createNvccToolchain(options: NvccToolchainOptions = {}): Promise<Toolchain> {
  const compiler = options.compiler ?? (await locateNvcc());
  const limits = { ...DEFAULT_COMPILE_LIMITS, ...options.limits };
  const { driverVersion } = options;
  const rules: CompilerRules = {
    name: 'nvcc',
    supports: (architecture) => ARCHITECTURE.test(architecture),
    architectures: ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_90a', 'sm_100', 'sm_120'],
    loadsCubins: true,
  };
  // nvcc has the host compiler's headers, but not those of a project that stayed behind.
  const hasHeader = (name: string) =>
    !name.includes('.') || compiler.headerFolders.some((folder) => existsSync(join(folder, name)));
  const compile = compileOnce(options.codeFolder, (prepared: NvccCompile) =>
    leaveOutHostCode(prepared, hasHeader, compileWithNvcc),
  );
  return {
    identity: { name: 'nvcc', version: compiler.version, path: compiler.path },
    compile: compileChecked(rules, (checked) => compile(withKey(checked))),
  };

  function withKey(checked: CheckedRequest): NvccCompile {
    const { candidate, architecture, functions, settings, parameterMacros } = checked;
    const paths = { unit: '', includeFolder: '', dependencyFile: '', output: '' };
    const key = compileKey({
      candidate,
      architecture,
      functions,
      commandLines: [
        ['nvcc', 'cubin'],
        ptxArguments(architecture, settings, parameterMacros, paths),
        cubinArguments(architecture, settings, { ptx: '', output: '' }),
      ],
      headerDigest: compiler.fingerprint,
      compilerFingerprint: `${compiler.path} ${compiler.version}`,
      driverVersion,
    });
    return { ...checked, compiler, limits, key };
  }
}
