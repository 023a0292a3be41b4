import type { ParameterValues } from '../../core/kernel.ts';

/** What a user says beside the file. */
export interface InitOptions {
  /** Kernels to take, in launch order; all that are launched where empty. */
  readonly kernels: readonly string[];
  /** Numbers by the name of a size of the host code or of a kernel's parameter. */
  readonly values: ParameterValues;
  /** `name=elements`, e.g. `A=M*K`. */
  readonly buffers: readonly string[];
  /** Comma-separated expressions, x first. */
  readonly grid?: string | undefined;
  readonly block?: string | undefined;
  readonly shared?: string | undefined;
  /** `cpu`, `stub`, `original`, or `python:FILE.py`, with `:function` where it has several. */
  readonly reference?: string | undefined;
  /** `name`, `name=8,16,32`, or `none`; what reaches launches, shared arrays and loops if absent. */
  readonly parameters?: readonly string[] | undefined;
}
