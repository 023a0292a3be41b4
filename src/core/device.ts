import type { CompiledCode } from './compiled-code.ts';
import type { LaunchCounters } from './counters.ts';
import type { DeviceSpec } from './device-spec.ts';
import type { DeviceTally } from './device-tally.ts';
import type { AllocationRequest, DeviceBuffer, DeviceFailure, LoadedModule } from './device-values.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { MeasuringDevice } from './measuring-device.ts';
import type { Timing } from './timing.ts';

export interface DeviceIdentity {
  /** `virtual:l4`, `cuda:0`. */
  id: string;
  kind: 'virtual' | 'cuda';
  /** e.g. `NVIDIA L4 (virtual)`. */
  name: string;
  /** Real GPUs: names the board, whatever its index. */
  uuid?: string;
  /** Real GPUs: e.g. `580.159.04`. */
  driver?: string;
}

export interface RunOptions {
  /** Seeds the order of CTAs and of warps; 0 is the natural order. */
  orderSeed: number;
  /** Count as well as execute. */
  count: boolean;
  /** Wall-clock limit for the whole sequence. */
  timeoutMs: number;
  /** Warp instructions one CTA may execute before it is `timed-out`; the device's default when absent. */
  instructionsPerCta?: number;
  /**
   * What shared and local memory hold when a CTA begins: rubbish drawn by this number (NaN in every floating dtype for 0),
   * zeros, or what the last CTA on the same multiprocessor left. Rubbish drawn by `orderSeed` when absent. Virtual devices
   * only: on others it is what it is.
   */
  privateMemory?: number | 'zeros' | 'leftovers';
  /** Look for accesses of several warps or CTAs that race; not while counting. Virtual devices only. */
  findRaces?: boolean;
  /** What the caches hold when the sequence starts, for the traffic that is estimated; `cold` when absent. */
  cache?: 'hot' | 'cold';
  /** Count only about this many CTAs of each launch (the others are not executed). Never for verification. */
  sampleCtas?: number;
}

/**
 * `counters` has one entry per launch step executed, empty unless asked for. `uninitialisedRead` says where shared memory
 * was first read that nothing had written, where races were looked for; by itself that is no mistake. `readBytes` are the
 * distinct bytes of each buffer that the sequence read, where a virtual device counted.
 */
export type RunOutcome =
  | {
      ok: true;
      counters: LaunchCounters[];
      elapsedMs: number;
      uninitialisedRead?: string;
      readBytes?: ReadonlyMap<string, number>;
    }
  | DeviceFailure;

/**
 * Seam 1: a GPU, real or virtual. One caller at a time. Failures of a kernel are values; only misuse throws.
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
  /** Bytes of the guard zones around the buffer that no longer hold the guard pattern; 0 when intact. */
  damagedGuardBytes(buffer: DeviceBuffer): Promise<number>;
  /** Checks arguments against the function's parameters, then runs every step of the plan in order. */
  run(
    module: LoadedModule,
    plan: LaunchPlan,
    buffers: ReadonlyMap<string, DeviceBuffer>,
    options: RunOptions,
  ): Promise<RunOutcome>;
  /** The predicted time of the counted sequence; virtual devices only, others throw. Bounds come from `bounds`. */
  predict(
    counters: readonly LaunchCounters[],
    plan: LaunchPlan,
    bounds: { vetoNs: number; attainableNs: number },
  ): Timing;
  /** Requests to its process since it was opened. Absent if the device has no process. */
  tally?(): Promise<DeviceTally>;
  close(): Promise<void>;
}
