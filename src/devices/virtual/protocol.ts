import type { RunnableImage } from '../../virtual-gpu/kernel-image.ts';
import type { TouchedPages } from '../../virtual-gpu/paging/paged-memory.ts';
import type { TracedWarp } from '../../virtual-gpu/race-detector/warp-tracer.ts';
import type { LaunchRequest, WorkerCounts } from '../../virtual-gpu/runtime/cta-runner.ts';
import type { ThreadLine } from '../../virtual-gpu/runtime/printing/print-log.ts';
import type { WrittenPages } from '../../virtual-gpu/runtime/write-map.ts';

/** Memory that a worker makes for itself, and that ends with it: so many bytes, of which the untouched ones take none of the host's. */
export interface OwnMemory {
  readonly ownBytes: number;
}

/** What the device sends a worker. */
export type WorkerRequest =
  /** The first message: the device's memory, and the memory of its read map. */
  | { kind: 'attach'; device: WebAssembly.Memory | OwnMemory; reads: WebAssembly.Memory }
  /** Forget it, and everything that was loaded. */
  | { kind: 'detach' }
  | { kind: 'load'; kernel: number; image: RunnableImage; module: WebAssembly.Module }
  | { kind: 'unload'; kernel: number }
  | {
      kind: 'run';
      job: number;
      kernel: number;
      launch: LaunchRequest;
      order: Int32Array;
      queue: Int32Array;
      /** Tell which bytes were stored to. */
      tellsWrites: boolean;
    };

/** What a worker answers to `run`. */
export type WorkerReply =
  | (Observed & {
      job: number;
      ok: true;
      counts: WorkerCounts | undefined;
      /** Which ways its CTAs decided. */
      decisions: Uint8Array | undefined;
      /** What this worker's CTAs stored to, if asked. */
      writes: WrittenPages | undefined;
      /** Whether several CTAs of this worker wrote to one place, without a check for races. */
      crossed: boolean;
    })
  | { job: number; ok: false; fault: FaultReport; printed: PrintReport | undefined };

/** What was seen of CTAs that ran to their ends. */
export interface Observed {
  /** The first read of unwritten shared memory, if reads were watched. */
  uninitialisedRead: FaultReport | undefined;
  /** The first volatile or atomic read that gave an older value, if accesses were watched. */
  olderRead: FaultReport | undefined;
  printed: PrintReport | undefined;
  /** Who stored to the watched place, if there is one. */
  watchedWrites: WriteReport | undefined;
  /** What the followed warp did, if there is one. */
  trace: TracedWarp | undefined;
  /** Of each buffer, where buffers are in pages. */
  touchedPages: readonly TouchedPages[] | undefined;
}

/** What a worker's CTAs printed: its first lines, and all calls. */
export interface PrintReport {
  lines: (ThreadLine & { position: number })[];
  calls: number;
}

/** Stores to a watched place as plain data. */
export interface WriteReport {
  count: number;
  last: StoreReport | undefined;
  earlier: StoreReport | undefined;
}

export interface StoreReport {
  cta: number;
  thread: number;
  instruction: string;
  source: { file: string; line: number } | undefined;
}

/** A fault as plain data; `position` is the place of the CTA's cluster in the launch order. */
export interface FaultReport {
  kind: string;
  message: string;
  position: number;
  cta: number;
  thread: number | undefined;
  address: string | undefined;
  accessBytes: number | undefined;
  space: string | undefined;
  instruction: string | undefined;
  ptxLine: number | undefined;
  source: { file: string; line: number } | undefined;
  buffer: { name: string; offsetBytes: number; sizeBytes: number } | undefined;
}

/** Cells of the shared queue: the next position to take, the lowest position that faulted, and whether the time limit has passed. */
export const QUEUE = { next: 0, faultedAt: 1, isLate: 2, cells: 3 } as const;
