import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { KernelResources } from '../../../core/counters.ts';
import type { RunOutcome } from '../../../core/device.ts';
import type { DeviceTally } from '../../../core/device-tally.ts';
import type { AllocationRequest, DeviceFailure } from '../../../core/device-values.ts';
import type { ErrorDetails } from '../../../core/errors.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { GpuState } from '../../../core/measurement.ts';
import type { Draw, EnergyOutcome, Fill, ReplayRound, RoundOutcome } from '../../../core/measuring-device.ts';
import type { WorkerFailure } from '../../../process/serve-worker.ts';
import type { CodeReading } from '../../../toolchains/module-policy.ts';
import type { PeakFigures } from '../peaks/measure-peaks.ts';
import type { CudaInfo } from './device-info.ts';

/** Numbers under which the worker knows buffers, modules and replays. */
export type BufferId = number;
export type ModuleId = number;
export type ReplayId = number;
/** Buffers by their names in the plan. */
export type SlotIds = readonly (readonly [name: string, buffer: BufferId])[];

/** `unchanged` has the places in `draws`. */
export type RoundRequest = RoundParts<BufferId> & { readonly unchanged: readonly number[] };

type RoundParts<B> = Omit<ReplayRound<B>, 'unchanged'>;

/** A round with `of` each buffer in its place. */
export function mapRound<A, B>(
  { chip, reread, sequenceCount, draws, fills, guarded, poisons, reruns }: RoundParts<A>,
  of: (buffer: A) => B,
): RoundParts<B> {
  const each = <T extends { readonly buffer: A }>(parts: readonly T[]) =>
    parts.map((part) => ({ ...part, buffer: of(part.buffer) }));
  return {
    chip,
    reread: reread.map(of),
    sequenceCount,
    draws: each(draws),
    fills: each(fills),
    guarded: guarded.map(of),
    poisons: each(poisons),
    reruns: reruns.map(({ sequence, fills: before, pairs }) => ({
      sequence,
      fills: each(before),
      pairs: pairs.map((pair) => ({ ...pair, left: of(pair.left), right: of(pair.right) })),
    })),
  };
}

/** Contents that lie in what the processes share. */
export interface Shared {
  readonly sharedAt: number;
  readonly length: number;
}

/** What the worker says about its GPU. */
export interface OpenedGpu {
  readonly info: CudaInfo;
  /** Highest SM clock that NVML names. */
  readonly maximumSmClockMhz?: number | undefined;
}

/** Every command of the worker, with its parameters and result. */
export interface Commands {
  /** Commands that need no context, for questions before the GPU is reserved. */
  identify: { take: { ordinal: number }; give: { uuid: string } };
  open: { take: { ordinal: number }; give: OpenedGpu };
  load: {
    /** `reading`: so that the worker need not read the code again. */
    take: { code: CompiledCode; reading: CodeReading };
    give: { ok: true; module: ModuleId; resources: Readonly<Record<string, KernelResources>> } | DeviceFailure;
  };
  unload: { take: { module: ModuleId }; give: undefined };
  allocate: { take: AllocationRequest; give: BufferId };
  free: { take: { buffer: BufferId }; give: undefined };
  write: {
    take: { writes: readonly { buffer: BufferId; bytes: Uint8Array | Shared; offsetBytes: number }[] };
    give: undefined;
  };
  fill: { take: Fill<BufferId>; give: undefined };
  /** `sharedAt`: where contents are to lie in what the processes share; they are given if there is no room. */
  read: {
    take: {
      ranges: readonly { buffer: BufferId; offsetBytes: number; bytes: number; sharedAt?: number | undefined }[];
    };
    give: (Uint8Array | undefined)[];
  };
  damagedGuardBytes: { take: { buffer: BufferId }; give: number };
  /** Undefined where the worker does not know any more what was written. */
  isUnchanged: { take: { buffer: BufferId }; give: boolean | undefined };
  run: { take: { module: ModuleId; plan: LaunchPlan; slot: SlotIds }; give: RunOutcome };
  allocateArena: { take: { requests: readonly AllocationRequest[]; seed: number }; give: BufferId[] };
  freeArena: { take: { buffers: readonly BufferId[] }; give: undefined };
  draw: { take: { draws: readonly Draw<BufferId>[] }; give: undefined };
  fillAll: { take: { fills: readonly Fill<BufferId>[] }; give: undefined };
  prepareReplay: {
    take: { module: ModuleId; plan: LaunchPlan; slots: readonly SlotIds[]; alone: readonly SlotIds[] };
    give: { ok: true; replay: ReplayId } | DeviceFailure;
  };
  replayOnce: { take: { replay: ReplayId; round: RoundRequest }; give: RoundOutcome };
  releaseReplay: { take: { replay: ReplayId }; give: undefined };
  replayOverheadNs: { take: Record<never, never>; give: number };
  timeEager: {
    take: { module: ModuleId; plan: LaunchPlan; slot: SlotIds; runs: number; longNs: number };
    give: { ok: true; times: readonly number[] } | DeviceFailure;
  };
  measurePeaks: { take: { libraryFolders: readonly string[] }; give: PeakFigures };
  energyOf: { take: { replay: ReplayId | null; leastMs: number }; give: EnergyOutcome };
  state: { take: Record<never, never>; give: GpuState };
  /** Several that run no candidate's code, one after the other: a message costs more than most of them. */
  together: { take: { messages: readonly CommandMessage[] }; give: readonly CommandReply[] };
  /** What was asked of the driver so far. */
  tally: { take: Record<never, never>; give: DeviceTally['driver'] };
}
export type CommandName = keyof Commands;
export type CommandMessage = { [C in CommandName]: { command: C; take: Commands[C]['take'] } }[CommandName];

/** `isLost`: the context is lost, and the worker can do nothing more. */
export type CommandReply<C extends CommandName = CommandName> =
  | { kind: 'done'; give: Commands[C]['give']; isLost: boolean }
  /** Something the user can act on. */
  | { kind: 'user-error'; details: ErrorDetails; exitCode: number; isLost: boolean }
  /** The driver failed for a reason outside the candidate. */
  | { kind: 'driver-error'; message: string; isLost: boolean }
  /** A mistake of ours, or misuse. */
  | { kind: 'failed'; error: WorkerFailure; isLost: boolean };
