import { z } from 'zod';
import type { CompiledCode } from './compiled-code.ts';
import type { LaunchCounters } from './counters.ts';
import type {
  CodeConstants,
  ForeseenWays,
  LoggedOperands,
  LoggedPairs,
  ObservedDecisions,
  ObservedResult,
  Ways,
} from './decisions.ts';
import type { DeviceSpec } from './device-spec.ts';
import type { DeviceTally } from './device-tally.ts';
import type { AllocationRequest, DeviceBuffer, DeviceFailure, LoadedModule, PlacedWrites } from './device-values.ts';
import type { LaunchPlan, PlannedLaunch } from './launch-plan.ts';
import type { MeasuringDevice } from './measuring-device.ts';
import type { PagedBuffer } from './paged-buffer.ts';
import type { Printed } from './printed.ts';
import type { Timing } from './timing.ts';
import type { TracedPlace, WarpTrace } from './warp-trace.ts';
import type { WidthLog } from './widths.ts';

export const deviceIdentitySchema = z.strictObject({
  id: z.string().describe('`virtual:l4`, `cuda:0`.'),
  kind: z.enum(['virtual', 'cuda']),
  name: z.string().describe('e.g. `NVIDIA L4 (virtual)`.'),
  uuid: z.string().describe('Real GPUs: names the board, whatever its index.').optional(),
  driver: z.string().describe('Real GPUs: e.g. `580.159.04`.').optional(),
});

export interface DeviceIdentity extends z.infer<typeof deviceIdentitySchema> {}

export interface RunOptions {
  /** Seeds the order of CTAs and of warps; 0 is the natural order. */
  orderSeed: number;
  /** Count as well as execute. */
  count: boolean;
  /** Wall-clock limit for the whole sequence. */
  timeoutMs: number;
  /** Warp instructions that one CTA may execute before it is `timed-out`; the device's default if absent. */
  instructionsPerCta?: number;
  /**
   * Contents of shared and local memory when a CTA begins: bytes drawn from this number (NaN in every floating-point dtype
   * for 0), zeros, or the memory that the last CTA on the same multiprocessor left. By default bytes drawn from
   * `orderSeed`. Virtual devices only; a real device can't choose.
   */
  privateMemory?: number | 'zeros' | 'leftovers';
  /** Look for races between warps or CTAs; not while counting. Virtual devices only. */
  findRaces?: boolean;
  /** Tell who stores to these bytes of a buffer; nothing is counted then, and no race looked for. Virtual devices only. */
  watch?: { readonly buffer: string; readonly offsetBytes: number; readonly bytes: number };
  /**
   * Follow one warp of one step. Of that step only the CTAs of its cluster run, and no later one; nothing is counted and no
   * race looked for. Virtual devices only.
   */
  trace?: TracedPlace;
  /** Cache state at the start of the sequence, for estimated traffic; `cold` by default. */
  cache?: 'hot' | 'cold';
  /** Run only about this many CTAs of each launch; all where they may depend on each other. Never for verification. */
  sampleCtas?: number;
}

/**
 * `counters` has one entry per executed launch step; empty unless requested. `uninitialisedRead` is the first read of
 * unwritten shared memory, if the run looked for races, and `olderRead` the first volatile or atomic read that gave an older value
 * than the latest; neither is a mistake by itself. `printed` is what kernels printed on a virtual device. `readBytes` are the distinct bytes
 * of each buffer that the sequence read, if a virtual device counted. `writes` is who stored to the watched bytes,
 * `trace` what the followed warp did.
 */
export type RunOutcome =
  | {
      ok: true;
      counters: LaunchCounters[];
      elapsedMs: number;
      uninitialisedRead?: string;
      olderRead?: string;
      readBytes?: ReadonlyMap<string, number>;
      writes?: PlacedWrites;
      trace?: WarpTrace;
      printed?: Printed;
    }
  | DeviceFailure;

export interface PagedRunOptions extends Pick<RunOptions, 'timeoutMs' | 'instructionsPerCta' | 'privateMemory'> {
  /** Run about so many CTAs, evenly spread over the grid, and always its last. */
  sampleCtas: number;
  /** Most bytes of pages, up to 2 GiB; 512 MiB by default. */
  mostBytes?: number;
}

/** `pages`: by buffer and page number, the bytes of each page of {@link BUFFER_PAGE_BYTES} that was touched. A buffer's last page may be shorter. */
export type PagedOutcome = { ok: true; pages: ReadonlyMap<string, ReadonlyMap<number, Uint8Array>> } | DeviceFailure;

/** What a copy of a module keeps about its decisions. */
export interface OperandLog {
  /** To be run in the module's place, and unloaded. */
  readonly module: LoadedModule;
  /** What was compared since this was asked last. */
  take(): LoggedOperands[];
}

/** What a copy of a module keeps about results. */
export interface ResultLog {
  /** To be run in the module's place, and unloaded. */
  readonly module: LoadedModule;
  /** Of all runs so far. */
  observed(): ObservedResult[];
}

/**
 * Seam 1: a GPU, real or virtual. One caller at a time; it may make requests together that do not depend on one another, and they are
 * served in its order. Failures of a kernel are values; only misuse throws.
 */
export interface Device {
  readonly identity: DeviceIdentity;
  readonly spec: DeviceSpec;
  /** Present where times are measured; absent where they are predicted. */
  readonly measuring?: MeasuringDevice;
  /** Starts what running code takes, such as threads, while there is none to run yet. Never changes a result. */
  prepare?(): void;
  /** Compiles or JIT-loads the code; the module stays valid until `unload` or `close`. */
  load(code: CompiledCode): Promise<{ ok: true; module: LoadedModule } | DeviceFailure>;
  unload(module: LoadedModule): Promise<void>;
  allocate(request: AllocationRequest): Promise<DeviceBuffer>;
  free(buffer: DeviceBuffer): Promise<void>;
  write(buffer: DeviceBuffer, bytes: Uint8Array, offsetBytes?: number): Promise<void>;
  /** Repeats `pattern` over the whole buffer. */
  fill(buffer: DeviceBuffer, pattern: Uint8Array): Promise<void>;
  read(buffer: DeviceBuffer): Promise<Uint8Array>;
  /** Bytes of the buffer's guard zones that no longer hold the guard pattern; 0 if they are intact. */
  damagedGuardBytes(buffer: DeviceBuffer): Promise<number>;
  /**
   * Whether the buffer still holds what was written last, where that was all of it; undefined if that is not known. Absent where reading
   * the buffer is as quick.
   */
  isUnchanged?(buffer: DeviceBuffer): Promise<boolean | undefined>;
  /** Checks arguments against the function's parameters, then runs every step of the plan in order. */
  run(
    module: LoadedModule,
    plan: LaunchPlan,
    buffers: ReadonlyMap<string, DeviceBuffer>,
    options: RunOptions,
  ): Promise<RunOutcome>;
  /**
   * Runs some CTAs of one launch whose buffers may be larger than the device's memory, up to 64 GiB each. `undefined` if that can't be done: the kernel
   * has atomics or other means by which CTAs communicate, bulk or tensor copies, pointer arrays or tensor maps, clusters, device variables
   * that are written, or the sample touches too many bytes. Virtual devices only.
   *
   * @param buffers - all that the launch names.
   */
  runPaged?(
    module: LoadedModule,
    step: PlannedLaunch,
    buffers: readonly PagedBuffer[],
    options: PagedRunOptions,
  ): Promise<PagedOutcome | undefined>;
  /** Which ways the module's code decided in all its launches so far. Virtual devices only. */
  decisions?(module: LoadedModule): ObservedDecisions;
  /** The same, each of `decisions(module)` in its place, of the launches since this was asked last. Virtual devices only. */
  recentWays?(module: LoadedModule): readonly Ways[];
  /**
   * A copy of the module that computes the same and keeps what these of its decisions compare, by their places in `decisions(module)`; `undefined` if none of
   * these has operands. Virtual devices only.
   *
   * @param which - `unequal`: only operands that are not equal.
   */
  logOperands?(module: LoadedModule, places: readonly number[], which: LoggedPairs): OperandLog | undefined;
  /**
   * A copy of the module that computes the same and keeps which results of arithmetic on loaded values are always the same. `undefined` if there are none. Virtual devices only.
   *
   * @param among - only these, by their numbers.
   */
  logResults?(module: LoadedModule, among?: ReadonlySet<number>): ResultLog | undefined;
  /**
   * A copy of the module that computes the same and keeps how large whole numbers got that it keeps in few bits. `undefined` if there are none. Virtual devices only.
   *
   * @param among - only these, by their numbers.
   */
  logWidths?(module: LoadedModule, among?: ReadonlySet<number>): WidthLog | undefined;
  /** Numbers in the module's own code. Virtual devices only. */
  constants?(module: LoadedModule): CodeConstants;
  /**
   * Which ways decisions would go that follow from a plan's arguments, grids and threads alone, for some of the threads, without
   * running it. By their places in `decisions(module)`; others are missing.
   */
  foresee?(module: LoadedModule, plan: LaunchPlan, places: readonly number[]): ReadonlyMap<number, ForeseenWays>;
  /** The predicted time of the counted sequence and of the plan's memsets; virtual devices only, others throw. Bounds come from `bounds`. */
  predict(
    counters: readonly LaunchCounters[],
    plan: LaunchPlan,
    bounds: { vetoNs: number; attainableNs: number },
  ): Timing;
  /** Requests to its process since it was opened. Absent if the device has no process. */
  tally?(): Promise<DeviceTally>;
  close(): Promise<void>;
}
