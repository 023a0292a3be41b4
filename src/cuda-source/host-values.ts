import type { Amount } from './amounts.ts';
import type { CType, TemplateArgument } from './syntax.ts';

/** Memory that host code names: a `cudaMalloc`, a `malloc`, a vector, an array. */
export interface Memory {
  /** The variable that first held it. */
  name: string;
  readonly space: 'host' | 'device' | 'managed';
  /** Of an element, as the variable's type says. */
  elementType: string | undefined;
  /** Undefined where the file does not say. */
  bytes: Amount | undefined;
  /** How host code fills it, if that is to be seen. */
  filling?: Filling;
}

/** How host code draws the values of an array. */
export type Filling =
  | { readonly kind: 'random' }
  | { readonly kind: 'range'; readonly low: number; readonly high: Amount }
  | { readonly kind: 'other' };

export interface Cell {
  readonly name: string;
  readonly type: CType;
  value: Value | undefined;
}

export type Value =
  | { readonly kind: 'amount'; readonly amount: Amount }
  | { readonly kind: 'pointer'; readonly memory: Memory /** Elements. */; readonly offset: Amount }
  | { readonly kind: 'null' }
  | { readonly kind: 'triple'; readonly parts: readonly [Amount, Amount, Amount] }
  | { readonly kind: 'reference'; readonly cell: Cell }
  | { readonly kind: 'unknown'; readonly text: string };

/** A launch as the host code makes it. */
export interface LaunchRecord {
  readonly function: string;
  readonly templateArguments: readonly TemplateArgument[];
  /** Undefined where it can't be worked out. */
  readonly grid: Value;
  readonly block: Value;
  readonly sharedBytes: Value;
  readonly arguments: readonly Value[];
  readonly line: number;
  /** Whether a loop that is not for timing may run it several times. */
  readonly isInLoop: boolean;
}

/** What host code does with device memory, in order. */
export type HostEvent =
  | { readonly kind: 'launch'; readonly launch: LaunchRecord }
  | { readonly kind: 'upload'; readonly memory: Memory; readonly from: Memory | undefined }
  | { readonly kind: 'download'; readonly memory: Memory; readonly to: Memory | undefined }
  | { readonly kind: 'copy'; readonly memory: Memory; readonly from: Memory }
  | { readonly kind: 'memset'; readonly memory: Memory; readonly value: Amount | undefined }
  /** `cudaMemcpyToSymbol`; `memory` is absent for a scalar. */
  | { readonly kind: 'upload-constant'; readonly symbol: string; readonly memory?: Memory; readonly from?: Memory }
  | { readonly kind: 'host-call'; readonly function: string; readonly arguments: readonly Value[] };

/** A size that host code names. */
export interface NamedSize {
  readonly name: string;
  /** Undefined where the file reads it at run time. */
  value: number | undefined;
  readonly isFloating: boolean;
}

export interface HostFacts {
  readonly events: readonly HostEvent[];
  readonly sizes: ReadonlyMap<string, NamedSize>;
}
