import { z } from 'zod';
import { type CompiledCode, sourceLocation } from './compiled-code.ts';
import type { KernelResources } from './counters.ts';
import type { Printed } from './printed.ts';
import { count, dim3 } from './schemas/common-schema.ts';
import type { FailureStatus } from './status.ts';

export const faultSchema = z.strictObject({
  functionName: z.string(),
  cta: dim3.optional(),
  thread: dim3.optional(),
  address: z.string().describe('Hexadecimal, as the kernel computed it.').optional(),
  accessBytes: count.optional(),
  buffer: z
    .strictObject({ name: z.string(), offsetBytes: z.number(), sizeBytes: count })
    .describe('The nearest buffer and the offset into it.')
    .optional(),
  source: sourceLocation.optional(),
  instruction: z.string().optional(),
  ptxLine: z.int().optional(),
});

/** Where and why a launch was stopped. */
export interface DeviceFault extends z.infer<typeof faultSchema> {}

export const placedWriteSchema = z.strictObject({
  step: count.describe('Of the launch plan, from 0.'),
  functionName: z.string().describe('Absent for a memset or a copy.').optional(),
  isCopy: z.literal(true).describe('A copy of the launch plan, not a memset.').optional(),
  cta: dim3.optional(),
  thread: dim3.optional(),
  source: sourceLocation.optional(),
  instruction: z.string().optional(),
});

/** A store of a launch sequence, a memset, or a copy. */
export type PlacedWrite = z.infer<typeof placedWriteSchema>;

/** Who wrote to a watched place: how many stores, the last, and the last before it by another thread. */
export interface PlacedWrites {
  readonly count: number;
  readonly last?: PlacedWrite;
  readonly earlier?: PlacedWrite;
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
  /** What the kernels had printed. */
  printed?: Printed;
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
