import { makeCandidate } from '../../../src/core/candidate.ts';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { Kernel } from '../../../src/core/kernel.ts';
import type { Toolchain } from '../../../src/toolchains/toolchain.ts';

/** Compiles one CUDA source with several `extern "C"` kernels. @throws Error with the compiler's message. */
export async function compileCuda(
  toolchain: Toolchain,
  source: string,
  functions: readonly string[],
  file = 'kernels.cu',
  architecture = 'sm_89',
): Promise<CompiledCode> {
  const kernel: Kernel = {
    folder: '.',
    file: {
      schemaVersion: 1,
      name: file,
      description: '',
      problem: '',
      source: { kind: 'cuda', files: [file] },
      steps: functions.map((name) => ({ function: name, grid: [1], block: [1], arguments: [] })),
    },
    sources: { [file]: source },
  };
  const compiled = await toolchain.compile({ candidate: makeCandidate(kernel, {}), architecture });
  if (!compiled.ok) throw new Error(`${compiled.status}: ${compiled.message}`);
  return compiled.code;
}

/** Names of the `extern "C" __global__` functions of a source. */
export const functionsIn = (source: string): string[] =>
  [...source.matchAll(/__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(/g)].map((match) => match[1]!);
