import type { Candidate } from '../../core/kernel.ts';
import { compiledFiles } from '../../toolchains/function-symbols.ts';
import { launchedFunctions } from './steps.ts';

const SYSTEM_INCLUDE = /^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>/gm;
const PLAIN_NAME = /^(?:::)?([A-Za-z_]\w*)$/;

/**
 * The unit that binds the launch header to kernel.cu. The kernel lies in the header's namespace, so that two exports can
 * be linked into one program: what it includes stands before it, and names of C linkage, which know no namespaces, get
 * the namespace as a prefix.
 */
export const launchUnit = (candidate: Candidate, name: string): string => {
  const { file, sources } = candidate.kernel;
  const includes = new Set(
    Object.values(sources).flatMap((text) => [...text.matchAll(SYSTEM_INCLUDE)].map(([, header]) => header!)),
  );
  const functions = launchedFunctions(file);
  const plainNames = functions.flatMap((text) => PLAIN_NAME.exec(text)?.[1] ?? []);
  const usesPointers = JSON.stringify(file.steps).includes('"pointers"');
  return [
    `// Compile with nvcc: binds ${name}_launch.hpp to the kernel, whose names are all its own.`,
    `#include "${name}_launch.hpp"`,
    '',
    ...(includes.size === 0 ? [] : ['// What the kernel includes, outside its namespace.']),
    ...[...includes].flatMap((header) => [`#if __has_include(<${header}>)`, `#include <${header}>`, '#endif']),
    '',
    ...plainNames.map((plain) => `#define ${plain} ${name}_${plain}`),
    '',
    `namespace ${name} {`,
    'namespace device_code {',
    ...compiledFiles(file).map((source) => `#include "${source}"`),
    '',
    'const void* const functions[] = {',
    ...functions.map((text) => `    reinterpret_cast<const void*>(&${text.replace(/^::/, '')}),`),
    '};',
    '}  // namespace device_code',
    '',
    'const void* function(int index) { return device_code::functions[index]; }',
    '',
    'namespace detail {',
    ...pointerWriter(usesPointers),
    '}  // namespace detail',
    `}  // namespace ${name}`,
    '',
  ].join('\n');
};

/** A launch, not a copy: what is captured into a graph keeps the addresses in the launch's own arguments. */
const pointerWriter = (isUsed: boolean): string[] =>
  isUsed
    ? [
        'const int kPointersPerLaunch = 64;',
        'struct Pointers {',
        '  const void* targets[kPointersPerLaunch];',
        '};',
        '__global__ void store_pointers(void** at, Pointers pointers, int count) {',
        '  const int i = static_cast<int>(threadIdx.x);',
        '  if (i < count) at[i] = const_cast<void*>(pointers.targets[i]);',
        '}',
        'cudaError_t write_pointers(void** at, const void* const* targets, int count, cudaStream_t stream) {',
        '  for (int first = 0; first < count; first += kPointersPerLaunch) {',
        '    const int part = count - first < kPointersPerLaunch ? count - first : kPointersPerLaunch;',
        '    Pointers pointers = {};',
        '    for (int i = 0; i < part; ++i) pointers.targets[i] = targets[first + i];',
        '    store_pointers<<<1, kPointersPerLaunch, 0, stream>>>(at + first, pointers, part);',
        '  }',
        '  return cudaGetLastError();',
        '}',
      ]
    : ['cudaError_t write_pointers(void**, const void* const*, int, cudaStream_t) { return cudaErrorInvalidValue; }'];
