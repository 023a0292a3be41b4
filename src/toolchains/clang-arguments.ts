import type { CompileSettings } from './user-flags.ts';

/**
 * Oldest PTX ISA that has every instruction of the architecture, so that the widest range of drivers loads the result.
 * Source: PTX ISA, release notes per version.
 */
const PTX_VERSIONS: Readonly<Record<string, string>> = {
  sm_80: '78',
  sm_86: '78',
  sm_87: '78',
  sm_89: '78',
  sm_90: '80',
  sm_90a: '80',
  sm_100: '86',
  sm_100a: '86',
  sm_120: '87',
  sm_120a: '87',
};

/** Estimated cost, by LLVM's measure, up to which the back end inlines. NVPTX allows 11 times as much. */
const INLINE_THRESHOLD = 10_000;

/** Included before every kernel. */
export const PRELUDE = 'warpsmith/prelude.h';

export const SUPPORTED_ARCHITECTURES: readonly string[] = Object.keys(PTX_VERSIONS);

/** What both stages must agree on. */
function targetArguments(architecture: string, settings: CompileSettings): string[] {
  const denormals = settings.flushSubnormals ? 'preserve-sign,preserve-sign' : 'ieee,ieee';
  return [
    ...['-triple', 'nvptx64-nvidia-cuda', '-target-cpu', architecture],
    ...['-target-feature', `+ptx${PTX_VERSIONS[architecture] ?? '78'}`],
    `-O${settings.optimisationLevel}`,
    `-ffp-contract=${settings.fuseMultiplyAdd ? 'fast' : 'off'}`,
    `-fdenormal-fp-math-f32=${denormals}`,
    // Shared, constant and local addresses are 32 bits wide, as in nvcc's output.
    ...['-fcuda-short-ptr', '-mllvm', '-nvptx-short-ptr'],
    ...['-mllvm', `-nvptx-prec-divf32=${settings.preciseDivision ? 2 : settings.flushSubnormals ? 0 : 1}`],
    ...['-mllvm', `-nvptx-prec-sqrtf32=${settings.preciseSquareRoot ? 1 : 0}`],
    '-fno-caret-diagnostics',
  ];
}

export interface FrontEndPaths {
  /** The generated unit, relative to the working folder. */
  unit: string;
  headerFolder: string;
  dependencyFile: string;
  includeFolders: readonly string[];
  /** What {@link precompileArguments} made of the prelude and more headers; it stands in for the prelude. */
  precompiled?: string;
}

/** What headers are parsed under: the same for those parsed beforehand and for the kernel. */
function languageArguments(architecture: string, settings: CompileSettings, headerFolder: string): string[] {
  return [
    ...targetArguments(architecture, settings),
    ...['-aux-triple', 'x86_64-unknown-linux-gnu', '-x', 'cuda', '-fcuda-is-device', '-fdeclspec'],
    `-std=${settings.languageStandard}`,
    // No folder of the machine is searched, only the kernel's own and the header pack.
    ...['-nostdsysteminc', '-nobuiltininc', '-internal-isystem', headerFolder],
    ...(settings.fastIntrinsics ? ['-D__USE_FAST_MATH__=1'] : []),
    // __DATE__ and __TIME__ are constant: equal inputs must give equal code.
    ...['-source-date-epoch', '0'],
    // Line tables only, with paths that don't depend on where the temporary folder is.
    ...['-debug-info-kind=line-directives-only', '-dwarf-version=2', '-fdebug-compilation-dir=.'],
    `-fdebug-prefix-map=${headerFolder}=warpsmith-headers`,
    // __FILE__ as the user names it.
    '-fmacro-prefix-map=./kernel/=',
    ...['-ferror-limit', '20'],
  ];
}

/** Parses the headers that stdin includes, into a file that clang reads faster than their text. */
export function precompileArguments(
  architecture: string,
  settings: CompileSettings,
  paths: { headerFolder: string; output: string },
): string[] {
  return [
    ...['-cc1', ...languageArguments(architecture, settings, paths.headerFolder)],
    // A header that was copied or checked out again is the same header.
    ...['-fno-pch-timestamp', '-emit-pch', '-o', paths.output, '-'],
  ];
}

/** Stage 1: CUDA C++ to unoptimised LLVM IR on stdout, and the list of files it read. */
export function frontEndArguments(
  architecture: string,
  settings: CompileSettings,
  parameterMacros: readonly string[],
  paths: FrontEndPaths,
): string[] {
  return [
    ...['-cc1', ...languageArguments(architecture, settings, paths.headerFolder)],
    ...paths.includeFolders.flatMap((folder) => ['-I', folder]),
    ...(paths.precompiled ? ['-include-pch', paths.precompiled] : ['-include', PRELUDE]),
    ...settings.macros,
    ...parameterMacros,
    ...['-sys-header-deps', '-dependency-file', paths.dependencyFile, '-MT', 'unit'],
    ...['-disable-llvm-passes', '-emit-llvm', '-o', '-', paths.unit],
  ];
}

/** Stage 2: LLVM IR on stdin to PTX on stdout. */
export function backEndArguments(architecture: string, settings: CompileSettings): string[] {
  return [
    '-cc1',
    ...targetArguments(architecture, settings),
    // nvcc unrolls loops over register arrays that clang's limit of 300 leaves alone, and with them the arrays in local memory.
    ...['-mllvm', '-unroll-threshold=1000'],
    // nvcc inlines every function that it can. A call left over takes arrays by address, and so lays them in local memory.
    ...[
      '-mllvm',
      `-inline-threshold=${INLINE_THRESHOLD}`,
      '-mllvm',
      `-locally-hot-callsite-threshold=${INLINE_THRESHOLD}`,
    ],
    ...['-x', 'ir', '-S', '-o', '-', '-'],
  ];
}
