import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Diagnostic } from '../../core/compiled-code.ts';
import type { Kernel } from '../../core/kernel.ts';
import { PRELUDE } from '../clang-arguments.ts';
import { liesWithin } from '../dependency-file.ts';
import { withoutHostLaunchers } from '../device-launches.ts';
import { type CompileUnit, compiledFiles, generateUnit } from '../function-symbols.ts';
import { findFileReferences } from '../scan-source.ts';
import { ALLOWED } from '../source-policy.ts';

/** C's and C++'s headers, which NVRTC lacks: those of the header pack, on a prelude that leaves CUDA's part to NVRTC. */
const STANDARD_HEADERS = [
  ...['algorithm', 'array', 'assert.h', 'cassert', 'cfloat', 'climits', 'cmath', 'cstddef', 'cstdint', 'cstdio'],
  ...['cstdlib', 'cstring', 'float.h', 'functional', 'limits', 'limits.h', 'math.h', 'stdbool.h', 'stddef.h'],
  ...['stdint.h', 'stdio.h', 'stdlib.h', 'string.h', 'type_traits', 'utility'],
  ...['warpsmith/nvrtc_limits.h', 'warpsmith/nvrtc_traits.h'],
];

export type NamedTexts = readonly (readonly [name: string, text: string])[];

/** Reads them once: they travel with each program, so that no other file can take their place. */
export function readStandardHeaders(packFolder: string): NamedTexts {
  const read = (name: string) => readFileSync(join(packFolder, name), 'utf8');
  return [[PRELUDE, read('warpsmith/nvrtc_prelude.h')], ...STANDARD_HEADERS.map((name) => [name, read(name)] as const)];
}

export const UNIT_NAME = 'warpsmith_unit.cu';

/** The unit that includes the kernel's files. The kernels wanted are asked for by name. */
export function nvrtcUnit(kernel: Kernel): CompileUnit {
  const usesLibrary = Object.values(kernel.sources).some((text) => /\bstd\s*::|\bnamespace std\b/.test(text));
  return generateUnit(compiledFiles(kernel.file), [], {
    prologue: [PRELUDE, ...(usesLibrary ? ['algorithm', 'cmath', 'limits'] : [])].map((name) => `#include "${name}"`),
    include: (file) => file,
  });
}

/** The kernel's files by name, as NVRTC takes them. */
export const kernelHeaders = (kernel: Kernel): NamedTexts =>
  Object.entries(kernel.sources).map(([name, text]) => [
    name,
    withRootedIncludes(name, withoutHostLaunchers(text), kernel),
  ]);

/** Whether a kernel can include it: of the standard library, or in one of the toolkit's folders. */
export const isHeaderFor = (includeFolders: readonly string[], name: string): boolean =>
  STANDARD_HEADERS.includes(name) || includeFolders.some((folder) => existsSync(join(folder, name)));

/** NVRTC knows texts by one name each; `#include "b.cuh"` in sub/a.cuh means sub/b.cuh. */
function withRootedIncludes(name: string, text: string, kernel: Kernel): string {
  const folder = posix.dirname(name);
  const renamed = new Map<string, string>();
  for (const { target } of findFileReferences(text)) {
    if (target === undefined) continue;
    const resolved = posix.join(folder, target);
    if (resolved !== target && resolved in kernel.sources) renamed.set(target, resolved);
  }
  if (renamed.size === 0) return text;
  return text.replaceAll(/"([^"\n]*)"/g, (quoted, target: string, offset: number) => {
    const before = text.slice(text.lastIndexOf('\n', offset) + 1, offset);
    return renamed.has(target) && /(?:#|%:|\?\?=|__has_include)[^"]*$/.test(before)
      ? `"${renamed.get(target)}"`
      : quoted;
  });
}

/**
 * Refuses constructs that are unsafe with a compiler that does not list the files it read: include names from macros,
 * macros that steer the toolkit's own includes, and files that NVRTC would find beside the unit.
 */
export function findUncheckableReferences(kernel: Kernel, includeFolders: readonly string[]): Diagnostic[] {
  const known = new Set([...STANDARD_HEADERS, PRELUDE, ...Object.keys(kernel.sources)]);
  return Object.entries(kernel.sources).flatMap(([file, text]) => {
    const error = (line: number, message: string): Diagnostic => ({
      severity: 'error',
      message,
      location: { file, line },
    });
    const references = findFileReferences(text).flatMap(({ construct, target, line }) => {
      if (target === undefined) {
        return [
          error(line, `${construct} of a name made by a macro is refused: NVRTC doesn't tell which files it read.`),
        ];
      }
      if (known.has(target)) return [];
      const installed = includeFolders.map((folder) => join(folder, target)).filter((path) => existsSync(path));
      const isInstalled = (path: string) => includeFolders.some((folder) => liesWithin(path, folder));
      if (installed.length > 0 && installed.every(isInstalled)) return [];
      const places = [...installed, posix.join('/', target), posix.join('/', posix.dirname(file), target)];
      return places.some((path) => existsSync(path))
        ? [error(line, `${construct} of \`${target}\` is refused. ${ALLOWED}`)]
        : [];
    });
    return [...references, ...steeringMacros(text, error)];
  });
}

/** Thrust and CUB include files that macros name. */
const STEERING_MACRO = /\b_*(?:THRUST|CUB|CCCL|LIBCUDACXX)_\w*(?:HEADER|ROOT|SYSTEM)\w*/;

function steeringMacros(text: string, error: (line: number, message: string) => Diagnostic): Diagnostic[] {
  return text.split('\n').flatMap((code, index) => {
    const name = STEERING_MACRO.exec(code)?.[0];
    return name === undefined
      ? []
      : [error(index + 1, `\`${name}\` is refused: it steers which files the toolkit includes.`)];
  });
}
