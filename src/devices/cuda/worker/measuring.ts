import type { AllocationRequest, DeviceFailure } from '../../../core/device-values.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { Draw, EnergyOutcome, Fill, RoundOutcome } from '../../../core/measuring-device.ts';
import { NativeMemory } from '../../../ffi/native-memory.ts';
import { median } from '../../../stats/quantile.ts';
import { CAPTURE_MODE_THREAD_LOCAL, EVENT_DEFAULT } from '../driver/constants.ts';
import { changedElements, damagedBytes, packDrawJobs, packFillJobs } from '../harness/harness.ts';
import { type Arena, allocateArena } from './arena.ts';
import type { CudaContext } from './cuda-context.ts';
import { energyWindow } from './energy-window.ts';
import { HarnessRunner, type Staged } from './harness-runner.ts';
import { Hold } from './hold.ts';
import { enqueueSequence, localBytesOf, type PreparedSequence } from './launch.ts';
import { LongFills } from './long-fills.ts';
import type { CudaBuffer } from './memory.ts';
import type { CudaModule } from './module.ts';
import {
  type CudaReplay,
  type CudaRound,
  type CudaSlot,
  drawJobs,
  fillJobs,
  isRepeatable,
  type PackedRound,
  type PreparedReplay,
  packRound,
  prepareSequences,
  releasePrepared,
} from './replays.ts';
import { enqueueRestore } from './saved-variables.ts';

/** Work between two looks at the energy counter: short beside its ticks, long beside the gap that looking leaves. */
const ENERGY_BATCH_MS = 5;
const OVERHEAD_SAMPLES = 101;
const MORE_EMPTY_KERNELS = 32;

/** The measuring part of a context: arenas, trusted device code, graphs and the event clock. */
export class CudaMeasuring {
  readonly #context: CudaContext;
  readonly #arenas = new Map<CudaBuffer, Arena>();
  readonly #start: bigint;
  readonly #end: bigint;
  #harness: HarnessRunner | undefined;
  #hold: Hold | undefined;
  #overheadNs: number | undefined;
  readonly #longFills: LongFills;

  constructor(context: CudaContext) {
    this.#context = context;
    this.#longFills = new LongFills(context);
    this.#start = context.driver.create('cuEventCreate', EVENT_DEFAULT);
    this.#end = context.driver.create('cuEventCreate', EVENT_DEFAULT);
  }

  /** @throws WarpsmithError `device-memory` */
  allocateArena(requests: readonly AllocationRequest[], seed: number): CudaBuffer[] {
    const { driver, memory } = this.#context;
    const total = {
      name: `arena of ${requests.length} buffers`,
      bytes: requests.reduce((sum, { bytes }) => sum + bytes, 0),
    };
    const arena = this.#context.outOfMemoryAsError(total, () => allocateArena(driver, requests, seed));
    for (const buffer of arena.buffers) this.#arenas.set(buffer, arena);
    memory.adopt(arena.buffers);
    return [...arena.buffers];
  }

  freeArena(buffers: readonly CudaBuffer[]): void {
    for (const arena of this.#arenasOf(buffers)) {
      for (const buffer of arena.buffers) this.#arenas.delete(buffer);
      this.#context.memory.forget(arena.buffers);
      this.#context.driver.call('cuMemFree_v2', arena.base);
    }
    // Whoever measures next has workspaces of its own.
    if (this.#arenas.size === 0) this.#longFills.release();
  }

  draw(draws: readonly Draw<CudaBuffer>[]): void {
    this.#guarded(() => this.harness.apply('draw', packDrawJobs(drawJobs(this.#context, draws))));
  }

  fillAll(fills: readonly Fill<CudaBuffer>[]): void {
    this.#guarded(() => {
      this.harness.apply('fill', packFillJobs(fillJobs(this.#context, fills)));
      const longFills = this.#longFills.of(fills);
      this.#longFills.enqueue(longFills);
      // The harness has waited for its own.
      if (longFills.length > 0) this.#context.driver.call('cuStreamSynchronize', this.#context.stream);
    });
  }

  /** Captures one sequence per slot, instantiates the graph and uploads it, unless every replay must do this again. */
  prepareReplay(
    module: CudaModule,
    plan: LaunchPlan,
    places: { slots: readonly CudaSlot[]; alone: readonly CudaSlot[] },
  ): { ok: true; replay: CudaReplay } | DeviceFailure {
    const replay = { module, plan, ...places, ready: undefined };
    // What the plan does wrong is found here either way.
    const made = this.#make(replay, module, places.slots.length);
    if (!made.ok) return made;
    if (isRepeatable(module)) return { ok: true, replay: { ...replay, ready: made } };
    this.#unmake(made);
    return { ok: true, replay };
  }

  releaseReplay({ ready }: CudaReplay): void {
    if (ready) this.#unmake(ready);
  }

  /** A graph of the first sequences, and the sequences that run alone. */
  #make(
    { plan, slots, alone }: CudaReplay,
    module: CudaModule,
    count: number,
  ): { ok: true; prepared: PreparedReplay; exec: bigint } | DeviceFailure {
    const context = this.#context;
    let prepared: PreparedReplay | undefined;
    try {
      const made = prepareSequences(context, module, plan, { slots: slots.slice(0, count), alone });
      if (!made.ok) return made;
      prepared = made.prepared;
      return { ok: true, prepared, exec: this.#capture(prepared.inGraph) };
    } catch (error) {
      try {
        return context.failureOf(error, plan);
      } finally {
        if (prepared) releasePrepared(context, prepared);
      }
    }
  }

  #unmake({ prepared, exec }: { prepared: PreparedReplay; exec: bigint }): void {
    if (this.#context.isLost) return;
    this.#context.driver.call('cuGraphExecDestroy', exec);
    releasePrepared(this.#context, prepared);
  }

  #capture(sequences: readonly PreparedSequence[]): bigint {
    const { driver, stream } = this.#context;
    driver.call('cuCtxSynchronize');
    return this.#instantiate(() => {
      for (const sequence of sequences) enqueueSequence(driver, sequence, stream);
    });
  }

  /** One whole replay: its preparation, the replay by the event clock, the checks, and the reruns. */
  replayOnce(replay: CudaReplay, round: CudaRound): RoundOutcome {
    const { ready } = replay;
    return ready
      ? this.#playPrepared(replay, ready, round)
      : this.#withFreshModule(replay, round.sequenceCount, (fresh) => this.#play(replay, fresh, round));
  }

  /** A replay that is cut short has a graph of its own, with the same sequences. */
  #playPrepared(replay: CudaReplay, ready: NonNullable<CudaReplay['ready']>, round: CudaRound): RoundOutcome {
    if (round.sequenceCount === ready.prepared.inGraph.length) return this.#play(replay, ready, round);
    let exec: bigint;
    try {
      exec = this.#capture(ready.prepared.inGraph.slice(0, round.sequenceCount));
    } catch (error) {
      return this.#context.failureOf(error, replay.plan);
    }
    try {
      return this.#play(replay, { prepared: ready.prepared, exec }, round);
    } finally {
      if (!this.#context.isLost) this.#context.driver.call('cuGraphExecDestroy', exec);
    }
  }

  /** Only loading the module gives its variables their initial values. */
  #withFreshModule<T>(
    replay: CudaReplay,
    count: number,
    use: (made: { prepared: PreparedReplay; exec: bigint }) => T | DeviceFailure,
  ): T | DeviceFailure {
    const context = this.#context;
    const { code, reading } = replay.module;
    const loaded = context.load(code, reading);
    if (!loaded.ok) return loaded;
    try {
      const made = this.#make({ ...replay, alone: [] }, loaded.module, count);
      if (!made.ok) return made;
      const outcome = use(made);
      this.#unmake(made);
      return outcome;
    } finally {
      if (!context.isLost) context.unload(loaded.module);
    }
  }

  #play(
    replay: CudaReplay,
    { prepared, exec }: { prepared: PreparedReplay; exec: bigint },
    round: CudaRound,
  ): RoundOutcome {
    const { driver, stream } = this.#context;
    const arenas = round.guarded.length === 0 ? [] : [...this.#arenasOf(round.guarded)];
    const gaps = arenas.flatMap((arena) => arena.gaps);
    const packed = this.#guarded(() => packRound(this.#context, round, { gaps, longFills: this.#longFills }));
    const staged = this.#guarded(() => this.harness.stage(listsOf(packed)));
    try {
      this.#context.giveUpPersistingLines();
      this.harness.enqueueStaged('draw', packed.draw, staged);
      // After the inputs, so that a workspace that fills the ring evicts them from L2, as other slots would.
      this.harness.enqueueStaged('fill', packed.fill, staged);
      this.#longFills.enqueue(packed.longFills);
      const key = BigInt(round.chip.key) << 32n;
      this.harness.enqueueScrubLocal(key, Math.max(0, ...prepared.inGraph.map(localBytesOf)));
      // Last of what reaches L2: nothing dirty is left for the replay to write back.
      if (round.chip.isL2Swept) this.harness.enqueueSweep();
      this.harness.enqueueStaged('count', packed.reread, staged);
      this.harness.enqueueScrub(key);
      this.#restore(prepared.module);
      const ns = this.timedNs(() => this.#launchGraph(exec));
      this.harness.enqueueStaged('match', packed.match, staged);
      this.harness.enqueueStaged('count', packed.guards, staged);
      this.harness.enqueueStaged('count', packed.held, staged);
      const refusal = this.#rerunAll(replay, prepared, packed, staged, round.chip.key);
      if (refusal) return refusal;
      driver.call('cuStreamSynchronize', stream);
      const countsOf = this.harness.readCounts(staged);
      const guards = damagedBytes(gaps, countsOf(packed.guards));
      return {
        ok: true,
        ns,
        changedElements: changedElements(drawJobs(this.#context, round.unchanged), countsOf(packed.match)),
        damagedGuards: guards.flatMap((bytes, i) => (bytes > 0 ? [{ buffer: gaps[i]!.buffer, bytes }] : [])),
        heldElements: [...countsOf(packed.held)].map(Number),
        equalElements: packed.reruns.map(({ compare }) => [...countsOf(compare)].map(Number)),
      };
    } catch (error) {
      return this.#context.failureOf(error, replay.plan);
    }
  }

  /** Runs sequences one at a time, each over a scrubbed chip, and compares each as soon as it has ended. */
  #rerunAll(
    replay: CudaReplay,
    prepared: PreparedReplay,
    packed: PackedRound,
    staged: Staged,
    key: number,
  ): DeviceFailure | undefined {
    const { driver, stream } = this.#context;
    for (const [i, { sequence, fill, longFills, compare }] of packed.reruns.entries()) {
      const enqueue = (own: PreparedSequence): void => {
        this.harness.enqueueStaged('fill', fill, staged);
        this.#longFills.enqueue(longFills);
        const ownKey = (BigInt(key) << 32n) | BigInt(i + 1);
        this.harness.enqueueScrub(ownKey);
        this.harness.enqueueScrubLocal(ownKey, localBytesOf(own));
        this.#restore(prepared.module);
        enqueueSequence(driver, own, stream);
        this.harness.enqueueStaged('compare', compare, staged);
      };
      if (replay.ready) enqueue(prepared.alone[sequence]!);
      else {
        const refusal = this.#enqueueFresh(replay, sequence, enqueue);
        if (refusal) return refusal;
      }
    }
    return undefined;
  }

  /** Runs one sequence from a newly loaded module, whose variables hold their initial values. */
  #enqueueFresh(
    { module, plan, alone }: CudaReplay,
    sequence: number,
    enqueue: (own: PreparedSequence) => void,
  ): DeviceFailure | undefined {
    const context = this.#context;
    const loaded = context.load(module.code, module.reading);
    if (!loaded.ok) return loaded;
    const outcome = context.withSequence(loaded.module, plan, alone[sequence]!, (own): { ok: true } => {
      enqueue(own);
      context.driver.call('cuStreamSynchronize', context.stream);
      return { ok: true };
    });
    if (!context.isLost) context.unload(loaded.module);
    return outcome.ok ? undefined : outcome;
  }

  #restore({ initial }: CudaModule): void {
    if (initial) enqueueRestore(this.#context.driver, initial);
  }

  /**
   * Overhead of a replay beyond its launches: the time of a graph of one empty kernel, minus the extra time of one more
   * kernel in a longer graph. Measured once per context.
   */
  replayOverheadNs(): number {
    this.#overheadNs ??= this.#guarded(() => {
      const one = this.#emptyReplayNs(1);
      const eachMore = (this.#emptyReplayNs(1 + MORE_EMPTY_KERNELS) - one) / MORE_EMPTY_KERNELS;
      return Math.max(0, one - eachMore);
    });
    return this.#overheadNs;
  }

  /** Median over many replays of a graph of `count` empty kernels. */
  #emptyReplayNs(count: number): number {
    const { driver, stream } = this.#context;
    // Before the capture, in which the driver allocates nothing.
    const hold = this.#holdOf();
    const exec = this.#instantiate(() => {
      for (let i = 0; i < count; i++) hold.enqueueEmpty(stream);
    });
    try {
      return median(Array.from({ length: OVERHEAD_SAMPLES }, () => this.timedNs(() => this.#launchGraph(exec))));
    } finally {
      driver.result('cuGraphExecDestroy', exec);
    }
  }

  /**
   * The board's energy while a replay runs again and again, or while nothing runs.
   *
   * @param readMillijoules the board's counter.
   */
  energyOf(replay: CudaReplay | undefined, leastMs: number, readMillijoules: () => number | undefined): EnergyOutcome {
    if (replay && !replay.ready)
      return { ok: true, why: 'its variables can only be restored by loading its code again' };
    const nowMs = () => performance.now();
    try {
      const work = replay?.ready ? this.#batchesOf(replay.ready) : pause;
      const window = energyWindow({ readMillijoules, work, nowMs }, leastMs);
      return typeof window === 'string' ? { ok: true, why: window } : { ok: true, ...window };
    } catch (error) {
      if (!replay) throw error;
      return this.#context.failureOf(error, replay.plan);
    }
  }

  /** Runs a graph so often that {@link ENERGY_BATCH_MS} pass, but at least once. */
  #batchesOf(ready: NonNullable<CudaReplay['ready']>): () => number {
    const startMs = performance.now();
    this.#runBatch(ready, 1);
    const count = Math.max(1, Math.ceil(ENERGY_BATCH_MS / (performance.now() - startMs)));
    return () => this.#runBatch(ready, count);
  }

  #runBatch({ prepared, exec }: NonNullable<CudaReplay['ready']>, count: number): number {
    for (let i = 0; i < count; i++) {
      this.#restore(prepared.module);
      this.#launchGraph(exec);
    }
    this.#context.driver.call('cuStreamSynchronize', this.#context.stream);
    return count;
  }

  /** Runs one sequence several times between two events, without a graph. */
  timeEager(
    module: CudaModule,
    plan: LaunchPlan,
    slot: CudaSlot,
    { runs, longNs }: { runs: number; longNs: number },
  ): { ok: true; times: number[] } | DeviceFailure {
    const { driver, stream } = this.#context;
    return this.#context.withSequence(module, plan, slot, (sequence) => {
      const times: number[] = [];
      while (times.length < runs && !(times.length > 1 && times.at(-1)! >= longNs))
        times.push(this.timedNs(() => enqueueSequence(driver, sequence, stream)));
      return { ok: true as const, times };
    });
  }

  #launchGraph(exec: bigint): void {
    this.#context.driver.call('cuGraphLaunch', exec, this.#context.stream);
  }

  /** Device time in ns of the work that `enqueue` puts into the stream. All of it is submitted before the clock starts. */
  timedNs(enqueue: () => void): number {
    const { driver, stream } = this.#context;
    const hold = this.#holdOf();
    driver.call('cuCtxSynchronize');
    hold.close(stream);
    try {
      driver.call('cuEventRecord', this.#start, stream);
      enqueue();
      driver.call('cuEventRecord', this.#end, stream);
    } finally {
      hold.open();
    }
    driver.call('cuStreamSynchronize', stream);
    return driver.elapsedMs(this.#start, this.#end) * 1e6;
  }

  /** An instantiated and uploaded graph of the work that `enqueue` puts into the stream. */
  #instantiate(enqueue: () => void): bigint {
    const { driver, stream } = this.#context;
    driver.call('cuStreamBeginCapture_v2', stream, CAPTURE_MODE_THREAD_LOCAL);
    let graph: bigint;
    try {
      enqueue();
      graph = this.#endCapture();
    } catch (error) {
      // The stream must leave capture mode even if the capture failed.
      this.#abandonCapture();
      throw error;
    }
    try {
      const exec = driver.create('cuGraphInstantiateWithFlags', graph, 0);
      try {
        driver.call('cuGraphUpload', exec, stream);
        driver.call('cuStreamSynchronize', stream);
        return exec;
      } catch (error) {
        driver.result('cuGraphExecDestroy', exec);
        throw error;
      }
    } finally {
      driver.result('cuGraphDestroy', graph);
    }
  }

  #endCapture(): bigint {
    const out = new NativeMemory(8);
    this.#context.driver.call('cuStreamEndCapture', this.#context.stream, out.address);
    return out.pointer();
  }

  #abandonCapture(): void {
    const out = new NativeMemory(8);
    const code = this.#context.driver.result('cuStreamEndCapture', this.#context.stream, out.address);
    if (code === 0 && out.pointer() !== 0n) this.#context.driver.result('cuGraphDestroy', out.pointer());
  }

  /** The trusted device code, loaded when first needed. @throws CudaError */
  #holdOf(): Hold {
    this.#hold ??= new Hold(this.#context.driver);
    return this.#hold;
  }

  get harness(): HarnessRunner {
    this.#harness ??= new HarnessRunner(this.#context);
    return this.#harness;
  }

  #guarded<T>(act: () => T): T {
    return this.#context.guarded(act);
  }

  #arenasOf(buffers: readonly CudaBuffer[]): Set<Arena> {
    return new Set(
      buffers.map((buffer) => {
        const arena = this.#arenas.get(buffer);
        if (!arena) throw new Error(`buffer ${buffer.name} lies in no arena`);
        return arena;
      }),
    );
  }
}

/** Leaves GPU and processor idle for {@link ENERGY_BATCH_MS}. @returns that nothing was run. */
function pause(): number {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ENERGY_BATCH_MS);
  return 0;
}

/** In the order in which their jobs lie on the device. */
const listsOf = ({ draw, fill, reread, match, guards, held, reruns }: PackedRound) => ({
  working: [draw, fill, ...reruns.map((one) => one.fill)],
  counting: [reread, match, guards, held, ...reruns.map((one) => one.compare)],
});
