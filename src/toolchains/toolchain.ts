import type { CompileOutcome } from '../core/compiled-code.ts';
import type { Candidate } from '../core/kernel.ts';

export interface CompileRequest {
  candidate: Candidate;
  /** e.g. `sm_89`. */
  architecture: string;
  signal?: AbortSignal | undefined;
}

/** Turns candidates into code for one architecture. */
export interface Toolchain {
  readonly identity: { readonly name: string; readonly version: string; readonly path: string };
  /** Changes with the compiler and its headers. Absent if that is unknown. */
  digest?(): string;
  /**
   * Compiles the candidate, or returns the cached code for the same inputs. A candidate's faults are outcomes; rejects only
   * with the signal's reason when aborted.
   */
  compile(request: CompileRequest): Promise<CompileOutcome>;
  /** Ends what the toolchain keeps running. */
  close?(): Promise<void>;
}
