import { arithmeticArguments } from '../nvrtc/nvrtc-arguments.ts';
import type { CompileSettings } from '../user-flags.ts';

export interface PtxPaths {
  unit: string;
  includeFolder: string;
  dependencyFile: string;
  output: string;
}

/** `sm_90a` → `90a`. */
const capability = (architecture: string) => architecture.replace(/^sm_/, '');

/** Stage 1: CUDA C++ to PTX, and the list of files it read. Host code is parsed, never compiled. */
export function ptxArguments(
  architecture: string,
  settings: CompileSettings,
  parameterMacros: readonly string[],
  paths: PtxPaths,
): string[] {
  const virtual = `compute_${capability(architecture)}`;
  return [
    ...['-ptx', `-gencode=arch=${virtual},code=${virtual}`, '-lineinfo'],
    `-std=${settings.languageStandard.replace('gnu', 'c')}`,
    // As NVRTC and clang take them: unannotated constexpr functions, lambdas marked __device__.
    ...['--expt-relaxed-constexpr', '--extended-lambda'],
    ...arithmeticArguments(settings),
    ...registers(settings),
    ...['-I', paths.includeFolder],
    ...settings.macros,
    ...parameterMacros,
    ...['-MD', '-MF', paths.dependencyFile],
    ...['-o', paths.output, paths.unit],
  ];
}

/** Stage 2: PTX to machine code. */
export function cubinArguments(
  architecture: string,
  settings: CompileSettings,
  paths: { ptx: string; output: string },
): string[] {
  const target = capability(architecture);
  return [
    ...['-cubin', `-gencode=arch=compute_${target},code=sm_${target}`, '-lineinfo'],
    ...(settings.optimisationLevel === '3' ? [] : [`--ptxas-options=-O${settings.optimisationLevel}`]),
    ...registers(settings),
    ...['-o', paths.output, paths.ptx],
  ];
}

const registers = ({ maximumRegisters }: CompileSettings) =>
  maximumRegisters === undefined ? [] : [`--maxrregcount=${maximumRegisters}`];
