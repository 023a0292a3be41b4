import type { CompiledCode, SourceLocation } from './compiled-code.ts';
import type { KernelResources } from './counters.ts';
import type { FailureStatus } from './status.ts';

/** Where and why a launch was stopped. */
export interface DeviceFault {
  functionName: string;
  cta?: readonly [number, number, number];
  thread?: readonly [number, number, number];
  /** Hexadecimal address, as the kernel computed it. */
  address?: string;
  accessBytes?: number;
  /** Nearest buffer and the offset into it. */
  buffer?: { name: string; offsetBytes: number; sizeBytes: number };
  source?: SourceLocation;
  instruction?: string;
  ptxLine?: number;
}

/** How a launch's arguments differ from the compiled function's parameters: a mistake in kernel.json. */
export interface ArgumentMismatch {
  functionName: string;
  /** Absent when the counts differ. */
  argumentIndex?: number;
  received: string;
  expected: string;
}

/** A failure as a value: the status of the evaluation, and the reason. */
export interface DeviceFailure {
  ok: false;
  status: FailureStatus;
  message: string;
  fault?: DeviceFault;
  mismatch?: ArgumentMismatch;
}

export interface LoadedModule {
  readonly code: CompiledCode;
  /** Resources of one CTA without dynamic shared memory, by function name; `kernel.ctasPerSm` derives from them. */
  readonly resources?: Readonly<Record<string, KernelResources>>;
}

export interface AllocationRequest {
  readonly name: string;
  readonly bytes: number;
  readonly alignmentBytes: number;
  /** Place the buffer at a multiple of `alignmentBytes`, but not of twice that: only as well aligned as declared. */
  readonly minimumAlignment?: boolean;
}

/** A device allocation. Contents are undefined until written. */
export interface DeviceBuffer {
  readonly name: string;
  readonly bytes: number;
}
