import type { CompileFailure, Diagnostic } from '../core/compiled-code.ts';
import type { Kernel } from '../core/kernel.ts';
import type { CompileUnit } from './function-symbols.ts';
import { refuseFor } from './outcomes.ts';
import type { RawDiagnostic } from './parse-diagnostics.ts';
import { findKernelNames } from './scan-source.ts';

/** What a header of the pack says of something that it names but no device offers. */
const UNSUPPORTED = / is unavailable: unsupported: (.*?)(?: \(in warpsmith-headers.*\))?$/;

const firstError = (diagnostics: readonly Diagnostic[]): string | undefined =>
  diagnostics.find(({ severity }) => severity === 'error')?.message;

/** The first error, if it is the use of something that the header pack names only to refuse it. */
export const unsupportedUse = (diagnostics: readonly Diagnostic[]): string | undefined =>
  UNSUPPORTED.exec(firstError(diagnostics) ?? '')?.[1];

/** The first error, and what to do about a file that is not there. */
export function summarise(diagnostics: readonly Diagnostic[]): string {
  const message = firstError(diagnostics);
  if (message === undefined) return 'The compiler failed without a message.';
  const hint =
    ' (a kernel sees the files listed in source.files and source.includes of kernel.json, and the device headers)';
  return /file not found$|open source file|No such file/.test(message) ? message + hint : message;
}

/**
 * Errors in the generated unit: a name of kernel.json for which the sources have no function, or a source file that ends
 * in the middle of something. Errors in the sources themselves come first.
 */
export function errorOfUnit(
  kernel: Kernel,
  unit: CompileUnit,
  diagnostics: readonly RawDiagnostic[],
): CompileFailure | undefined {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length === 0 || errors.some(({ origin }) => origin === 'kernel' || origin === 'headers')) return undefined;
  const error = errors.find(({ origin }) => origin === 'unit');
  const meaning = error && unit.meaning(error.location?.line ?? 0);
  if (meaning === undefined) return undefined;
  if ('endOf' in meaning) return unfinishedFile(kernel, meaning.endOf, errors.at(-1)!, diagnostics);
  return unresolvedFunction(kernel, meaning.function, error!.message);
}

/** kernel.json names a function that the compiler doesn't find. */
export function unresolvedFunction(kernel: Kernel, name: string, reason: string): CompileFailure {
  const existing = Object.values(kernel.sources).flatMap(findKernelNames);
  const list = existing.length === 0 ? 'no __global__ function' : existing.join(', ');
  const message = `kernel.json launches \`${name}\`, which can't be resolved: ${reason}. The sources have ${list}.`;
  return refuseFor('invalid', message);
}

function unfinishedFile(
  kernel: Kernel,
  file: string,
  error: RawDiagnostic,
  diagnostics: readonly RawDiagnostic[],
): CompileFailure {
  const opened = diagnostics.find(({ severity, origin }) => severity === 'note' && origin === 'kernel')?.location;
  const lastLine = (kernel.sources[file] ?? '').trimEnd().split('\n').length;
  const message = `${file} ends in the middle of a declaration: ${error.message}`;
  return refuseFor('compile-failed', message, opened ?? { file, line: lastLine });
}
