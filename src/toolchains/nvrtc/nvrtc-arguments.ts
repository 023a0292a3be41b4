import type { CompileSettings } from '../user-flags.ts';

/** NVRTC's arguments, in nvcc's terms; `includeFolders` are the toolkit's. */
export function nvrtcArguments(
  architecture: string,
  settings: CompileSettings,
  parameterMacros: readonly string[],
  includeFolders: readonly string[],
): string[] {
  return [
    `--gpu-architecture=${architecture}`,
    `--std=${languageStandard(settings)}`,
    '--generate-line-info',
    // constexpr functions and constants without an annotation are as good on the GPU as nvcc finds them.
    '--device-as-default-execution-space',
    ...arithmeticArguments(settings),
    ...(settings.optimisationLevel === '3' ? [] : [`--ptxas-options=-O${settings.optimisationLevel}`]),
    ...(settings.maximumRegisters === undefined ? [] : [`--maxrregcount=${settings.maximumRegisters}`]),
    ...includeFolders.map((folder) => `--include-path=${folder}`),
    ...settings.macros,
    ...parameterMacros,
  ];
}

/** NVRTC knows no GNU dialects; the header pack's C++ headers need C++17, which takes what C++11 and C++14 take. */
const languageStandard = (settings: CompileSettings) =>
  settings.languageStandard.replace('gnu', 'c').replace(/1[14]$/, '17');

/** Fast math comes first, because later flags override it. nvcc spells them the same way. */
export function arithmeticArguments(settings: CompileSettings): string[] {
  return [
    ...(settings.fastIntrinsics ? ['--use_fast_math'] : []),
    `--ftz=${settings.flushSubnormals}`,
    `--prec-div=${settings.preciseDivision}`,
    `--prec-sqrt=${settings.preciseSquareRoot}`,
    `--fmad=${settings.fuseMultiplyAdd}`,
  ];
}
