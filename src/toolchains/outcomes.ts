import type { CompileFailure, CompileOutcome, Diagnostic } from '../core/compiled-code.ts';

/** No code, and why. Who compiles fills in how long that took. */
export const refuse = (
  status: CompileFailure['status'],
  message: string,
  diagnostics: readonly Diagnostic[] = [],
): CompileFailure => ({ ok: false, status, message, diagnostics, elapsedMs: 0 });

/** Likewise, for one error, at its place if that is known. */
export const refuseFor = (
  status: CompileFailure['status'],
  message: string,
  location?: Diagnostic['location'],
): CompileFailure => refuse(status, message, [{ severity: 'error', message, location }]);

/** The same outcome with more said of it. */
export function withNotes(outcome: CompileOutcome, ...notes: readonly Diagnostic[]): CompileOutcome {
  if (!outcome.ok) return { ...outcome, diagnostics: [...outcome.diagnostics, ...notes] };
  const { code } = outcome;
  return { ...outcome, code: { ...code, diagnostics: [...code.diagnostics, ...notes] } };
}
