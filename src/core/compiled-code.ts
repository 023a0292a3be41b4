import { z } from 'zod';

export const sourceLocation = z
  .strictObject({ file: z.string(), line: z.int(), column: z.int().optional() })
  .meta({ id: 'SourceLocation' });

/** A place in the user's source. Columns and lines count from 1. */
export type SourceLocation = z.infer<typeof sourceLocation>;

export const diagnosticSchema = z.strictObject({
  severity: z.enum(['error', 'warning', 'note']),
  message: z.string(),
  location: sourceLocation.optional(),
});

export type Diagnostic = z.infer<typeof diagnosticSchema>;

export interface CompiledCode {
  readonly kind: 'ptx' | 'cubin';
  /** PTX text; for a cubin, base64. */
  readonly text: string;
  /** For a cubin: the PTX from which it was assembled, if the compiler provides it. */
  readonly ptx?: string;
  /** e.g. `sm_89`. */
  readonly architecture: string;
  readonly compiler: { readonly name: string; readonly version: string };
  /** kernel.json's function name (extern "C" or template instantiation) → symbol in the compiled text. */
  readonly functionSymbols: Readonly<Record<string, string>>;
  /** SHA-256 over everything that determined `text`. */
  readonly key: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** The symbol of a function of kernel.json; its own name where it is compiled under no other. */
export const symbolOf = ({ functionSymbols }: Pick<CompiledCode, 'functionSymbols'>, functionName: string): string =>
  functionSymbols[functionName] ?? functionName;

export type CompileOutcome =
  | { readonly ok: true; readonly code: CompiledCode; readonly cached: boolean; readonly elapsedMs: number }
  | {
      readonly ok: false;
      readonly status: 'compile-failed' | 'timed-out' | 'unsupported' | 'invalid';
      readonly message: string;
      readonly diagnostics: readonly Diagnostic[];
      readonly elapsedMs: number;
    };

export type CompileFailure = Extract<CompileOutcome, { ok: false }>;

/** The PTX that code is or was made from; undefined for machine code that came without it. */
export const ptxOf = (code: CompiledCode): string | undefined => (code.kind === 'ptx' ? code.text : code.ptx);
