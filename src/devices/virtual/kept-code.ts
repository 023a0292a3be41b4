import { rememberedAt } from '../../core/once-for.ts';
import type { PtxModule } from '../../ptx/ast.ts';
import { parsePtx } from '../../ptx/parse.ts';
import { type CompileKernelOptions, compileKernel } from '../../virtual-gpu/compile-kernel.ts';
import type { KernelImage } from '../../virtual-gpu/kernel-image.ts';
import { isUserFile } from '../../virtual-gpu/user-files.ts';

/** A kernel as threads run it. V8 keeps the machine code that it made of the module for as long as the module lives. */
export interface BuiltKernel {
  readonly image: KernelImage;
  readonly module: WebAssembly.Module;
}

/** PTX that was parsed, and what was made of it. */
export interface KeptCode {
  readonly ptx: PtxModule;
  readonly kernels: Map<string, BuiltKernel>;
}

/**
 * Most characters of PTX of which the parsed and compiled forms are kept, besides the last one's: some ten kernels of usual
 * size, 100 MiB or so.
 */
const MOST_CHARACTERS = 2 ** 20;

/** By its text, least recently used first. Every device of this process shares it: a candidate is judged more than once. */
const kept = new Map<string, KeptCode>();

/** @throws PtxSyntaxError, UnsupportedPtxError */
export function parseOnce(text: string): KeptCode {
  const code = kept.get(text) ?? { ptx: parsePtx(text, { isUserFile }), kernels: new Map() };
  kept.delete(text);
  kept.set(text, code);
  let characters = [...kept.keys()].reduce((sum, { length }) => sum + length, 0);
  for (const [oldest] of kept) {
    if (characters <= MOST_CHARACTERS || oldest === text) break;
    characters -= oldest.length;
    kept.delete(oldest);
  }
  return code;
}

/** @throws as {@link compileKernel} */
export function buildOnce(code: KeptCode, options: Omit<CompileKernelOptions, 'module'>): BuiltKernel {
  const { globals, ...settings } = options;
  const key = JSON.stringify([settings, [...globals]]);
  return rememberedAt(code.kernels, key, () => {
    const image = compileKernel({ ...options, module: code.ptx });
    return { image, module: new WebAssembly.Module(image.wasm) };
  });
}
