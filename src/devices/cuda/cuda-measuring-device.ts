import type { DeviceBuffer, DeviceFailure, LoadedModule } from '../../core/device-values.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { MeasuredPeaks } from '../../core/measured-peaks.ts';
import type { GpuState } from '../../core/measurement.ts';
import type {
  Draw,
  EnergyOutcome,
  Fill,
  GpuUse,
  MeasuringDevice,
  ReadRange,
  Replay,
  ReplayOutcome,
  ReplayRound,
  RoundOutcome,
  Slot,
} from '../../core/measuring-device.ts';
import { endedWhileRunning } from './ended-while-running.ts';
import type { Handles } from './handles.ts';
import { cudaLibraryFolders, knownPeaks, type PeakSubject } from './peaks/peaks-cache.ts';
import { Transfers } from './transfers.ts';
import { LONGEST_TICK_MS } from './worker/energy-window.ts';
import { mapRound, type RoundRequest } from './worker/protocol.ts';
import type { WorkerClient } from './worker-client.ts';

/** Time the worker has beside the limit of a replay. */
const TIME_MARGIN_MS = 250;

/** Arenas, trusted device code, graphs and the event clock of a real GPU, through its worker. */
export class CudaMeasuringDevice implements MeasuringDevice {
  readonly l2Bytes: number;
  readonly use: GpuUse;
  readonly #client: WorkerClient;
  readonly #handles: Handles;
  readonly #transfers: Transfers;
  readonly #board: PeakSubject;
  #peaks: MeasuredPeaks | undefined;
  /** What each replay launches, for messages. */
  readonly #plans = new WeakMap<Replay, LaunchPlan>();

  constructor(client: WorkerClient, handles: Handles, board: PeakSubject, l2Bytes: number) {
    this.#client = client;
    this.use = client.use;
    this.#handles = handles;
    this.#transfers = new Transfers(client, handles);
    this.#board = board;
    this.l2Bytes = l2Bytes;
  }

  async allocateArena(
    requests: readonly { name: string; bytes: number; alignmentBytes: number }[],
    seed: number,
  ): Promise<DeviceBuffer[]> {
    const ids = await this.#client.housekeeping('allocateArena', { requests, seed });
    return ids.map((id, i) => this.#handles.addBuffer(requests[i]!.name, requests[i]!.bytes, id));
  }

  async freeArena(buffers: readonly DeviceBuffer[]): Promise<void> {
    const ids = buffers.map((buffer) => this.#handles.takeBuffer(buffer)).filter((id) => id !== undefined);
    if (ids.length > 0) await this.#client.housekeeping('freeArena', { buffers: ids });
  }

  async draw(draws: readonly Draw[]): Promise<void> {
    await this.#client.housekeeping('draw', { draws: this.#on(draws) });
  }

  async fillAll(fills: readonly Fill[]): Promise<void> {
    await this.#client.housekeeping('fillAll', { fills: this.#on(fills) });
  }

  async writeAll(writes: readonly { buffer: DeviceBuffer; bytes: Uint8Array }[]): Promise<void> {
    await this.#transfers.write(writes);
  }

  async readAll(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    return this.#transfers.read(ranges);
  }

  hasState(module: LoadedModule): boolean {
    return this.#handles.hasState(module);
  }

  async prepareReplay(
    module: LoadedModule,
    plan: LaunchPlan,
    slots: readonly Slot[],
    alone: readonly Slot[] = [],
  ): Promise<ReplayOutcome> {
    const prepared = await this.#client.housekeeping('prepareReplay', {
      module: this.#handles.module(module),
      plan,
      slots: slots.map((slot) => this.#handles.slot(slot)),
      alone: alone.map((slot) => this.#handles.slot(slot)),
    });
    if (!prepared.ok) return prepared;
    const replay = this.#handles.addReplay<Replay>({ sequenceCount: slots.length }, prepared.replay);
    this.#plans.set(replay, plan);
    return { ok: true, replay };
  }

  async replayOnce(replay: Replay, round: ReplayRound, timeoutMs: number): Promise<RoundOutcome> {
    const take = { replay: this.#handles.replay(replay), round: this.#round(round) };
    // The replay, then the reruns.
    const limitMs = (round.reruns.length > 0 ? 2 : 1) * timeoutMs;
    try {
      return await this.#client.command('replayOnce', take, limitMs + TIME_MARGIN_MS);
    } catch (error) {
      return endedWhileRunning(error, this.#plans.get(replay)!, timeoutMs);
    }
  }

  async releaseReplay(replay: Replay): Promise<void> {
    const id = this.#handles.takeReplay(replay);
    if (id !== undefined) await this.#client.housekeeping('releaseReplay', { replay: id });
  }

  async replayOverheadNs(): Promise<number> {
    return this.#client.housekeeping('replayOverheadNs', {});
  }

  async timeEager(
    module: LoadedModule,
    plan: LaunchPlan,
    slot: Slot,
    { timeoutMs, ...limits }: { runs: number; longNs: number; timeoutMs: number },
  ): Promise<{ ok: true; times: readonly number[] } | DeviceFailure> {
    const take = { module: this.#handles.module(module), plan, slot: this.#handles.slot(slot), ...limits };
    try {
      // All but the last two are short.
      return await this.#client.command('timeEager', take, 2 * timeoutMs + TIME_MARGIN_MS);
    } catch (error) {
      return endedWhileRunning(error, plan, timeoutMs);
    }
  }

  async peaks(): Promise<MeasuredPeaks> {
    const measure = () => this.#client.housekeeping('measurePeaks', { libraryFolders: cudaLibraryFolders() });
    // Another process that shares the GPU may be about to keep them.
    this.#peaks ??= await this.use.alone(() => knownPeaks(this.#board, measure));
    return this.#peaks;
  }

  async energyOf(
    replay: Replay | undefined,
    { leastMs, timeoutMs }: { leastMs: number; timeoutMs: number },
  ): Promise<EnergyOutcome> {
    if (!replay) return this.#client.housekeeping('energyOf', { replay: null, leastMs });
    // Until the first tick, from there on, and until the last one; and the runs that are under way by then.
    const limitMs = leastMs + 2 * LONGEST_TICK_MS + 4 * timeoutMs;
    try {
      return await this.#client.command('energyOf', { replay: this.#handles.replay(replay), leastMs }, limitMs);
    } catch (error) {
      return endedWhileRunning(error, this.#plans.get(replay)!, limitMs);
    }
  }

  async state(): Promise<GpuState> {
    return this.#client.housekeeping('state', {});
  }

  /** Draws or fills, of the worker's buffers. */
  #on<T extends { readonly buffer: DeviceBuffer }>(parts: readonly T[]) {
    return parts.map((part) => ({ ...part, buffer: this.#handles.buffer(part.buffer) }));
  }

  #round({ unchanged, ...parts }: ReplayRound): RoundRequest {
    const places = new Map(parts.draws.map((draw, place) => [draw, place]));
    const round = mapRound(parts, (buffer) => this.#handles.buffer(buffer));
    return { ...round, unchanged: unchanged.map((draw) => placeOf(places, draw)) };
  }
}

function placeOf(places: ReadonlyMap<Draw, number>, draw: Draw): number {
  const place = places.get(draw);
  if (place === undefined) throw new Error(`${draw.buffer.name} is compared with drawn values, but was not drawn`);
  return place;
}
