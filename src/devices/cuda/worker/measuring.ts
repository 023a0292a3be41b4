import type { DeviceFailure } from '../../../core/device.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { ChipState, Draw, Fill, RerunOutcome, TimedOutcome } from '../../../core/measuring-device.ts';
import { NativeMemory } from '../../../ffi/native-memory.ts';
import { CAPTURE_MODE_THREAD_LOCAL, EVENT_DEFAULT } from '../driver/constants.ts';
import { changedElements, damagedBytes, packDrawJobs, packFillJobs, packGuardJobs } from '../harness/harness.ts';
import { type Arena, allocateArena } from './arena.ts';
import type { CudaContext } from './cuda-context.ts';
import { HarnessRunner } from './harness-runner.ts';
import { Hold } from './hold.ts';
import { enqueueSequence, localBytesOf, type PreparedSequence, prepareSequence, releaseSequence } from './launch.ts';
import { type AllocationRequest, type CudaBuffer, GUARD_VALUE } from './memory.ts';
import type { CudaModule } from './module.ts';
import {
  type CudaRerun,
  type CudaSequences,
  type CudaSlot,
  drawJobs,
  fillJobs,
  type On,
  prepareSequences,
  releaseSequences,
  rerun,
} from './sequences.ts';

/** An instantiated graph and what it uses. */
export interface CudaReplay {
  readonly sequenceCount: number;
  readonly plan: LaunchPlan;
  readonly exec: bigint;
  readonly sequences: readonly PreparedSequence[];
  /** A fresh copy of the module, whose variables hold their initial values; only for modules that have any. */
  readonly ownModule: CudaModule | undefined;
  wasTimed: boolean;
}

const OVERHEAD_SAMPLES = 101;
const MORE_EMPTY_KERNELS = 32;

/** What measuring needs of a context beside running: arenas, trusted device code, graphs and the event clock. */
export class CudaMeasuring {
  readonly #context: CudaContext;
  readonly #arenas = new Map<CudaBuffer, Arena>();
  readonly #start: bigint;
  readonly #end: bigint;
  #harness: HarnessRunner | undefined;
  #hold: Hold | undefined;
  #overheadNs: number | undefined;

  constructor(context: CudaContext) {
    this.#context = context;
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
  }

  damagedArenaGuards(buffers: readonly CudaBuffer[]): { buffer: string; bytes: number }[] {
    const gaps = [...this.#arenasOf(buffers)].flatMap((arena) => arena.gaps);
    const counts = this.#guarded(() => this.harness.count('count', packGuardJobs(gaps, GUARD_VALUE)));
    return damagedBytes(gaps, counts).flatMap((bytes, i) => (bytes > 0 ? [{ buffer: gaps[i]!.buffer, bytes }] : []));
  }

  draw(draws: readonly On<Draw>[]): void {
    this.#guarded(() => this.harness.apply('draw', packDrawJobs(drawJobs(this.#context, draws))));
  }

  changedSinceDraw(draws: readonly On<Draw>[]): number[] {
    const jobs = drawJobs(this.#context, draws);
    return changedElements(
      jobs,
      this.#guarded(() => this.harness.count('match', packDrawJobs(jobs))),
    );
  }

  fillAll(fills: readonly On<Fill>[]): void {
    this.#guarded(() => this.harness.apply('fill', packFillJobs(fillJobs(this.#context, fills))));
  }

  elementsHolding(fills: readonly On<Fill>[]): number[] {
    const counts = this.#guarded(() => this.harness.count('count', packFillJobs(fillJobs(this.#context, fills))));
    return [...counts].map(Number);
  }

  /** Captures one sequence for each slot, instantiates and uploads. */
  prepareReplay(
    module: CudaModule,
    plan: LaunchPlan,
    slots: readonly CudaSlot[],
  ): { ok: true; replay: CudaReplay } | DeviceFailure {
    const { driver } = this.#context;
    const sequences: PreparedSequence[] = [];
    let ownModule: CudaModule | undefined;
    const release = () => {
      if (this.#context.isLost) return;
      for (const sequence of sequences) releaseSequence(driver, sequence);
      if (ownModule) this.#context.unload(ownModule);
    };
    try {
      if (module.hasState) {
        const loaded = this.#context.load(module.code);
        if (!loaded.ok) return loaded;
        ownModule = loaded.module;
      }
      for (const slot of slots) {
        const prepared = prepareSequence(this.#context.target, ownModule ?? module, plan, slot);
        if (!prepared.ok) {
          release();
          return prepared;
        }
        sequences.push(prepared.sequence);
      }
      driver.call('cuCtxSynchronize');
      const exec = this.#instantiate(() => {
        for (const sequence of sequences) enqueueSequence(driver, sequence, this.#context.stream);
      });
      const replay = { sequenceCount: slots.length, plan, exec, sequences, ownModule, wasTimed: false };
      return { ok: true, replay };
    } catch (error) {
      try {
        return this.#context.failureOf(error, plan);
      } finally {
        release();
      }
    }
  }

  /** @throws Error when a replay of a module with state is timed a second time. */
  time(replay: CudaReplay, chip: ChipState): TimedOutcome {
    if (replay.ownModule && replay.wasTimed)
      throw new Error('a replay of a module with variables can be timed once only: prepare another');
    replay.wasTimed = true;
    try {
      this.#settle(chip, Math.max(...replay.sequences.map(localBytesOf)));
      return { ok: true, ns: this.timedNs(() => this.#launchGraph(replay.exec)) };
    } catch (error) {
      return this.#context.failureOf(error, replay.plan);
    }
  }

  /** Leaves of what ran before only what a fresh process would find, too. */
  #settle({ key, isL2Swept }: ChipState, localBytes: number): void {
    // GPUs without persisting lines have nothing to give up.
    this.#context.driver.optional.cuCtxResetPersistingL2Cache?.();
    if (isL2Swept) this.harness.enqueueSweep();
    this.harness.enqueueScrub(BigInt(key) << 32n, localBytes);
  }

  prepareSequences(
    module: CudaModule,
    plan: LaunchPlan,
    slots: readonly CudaSlot[],
  ): { ok: true; sequences: CudaSequences } | DeviceFailure {
    return prepareSequences(this.#context, module, plan, slots);
  }

  rerun(sequences: CudaSequences, reruns: readonly CudaRerun[], key: number): RerunOutcome {
    return rerun(this.#context, this.harness, sequences, reruns, key);
  }

  releaseSequences(sequences: CudaSequences): void {
    releaseSequences(this.#context, sequences);
  }

  releaseReplay(replay: CudaReplay): void {
    const { driver } = this.#context;
    driver.call('cuGraphExecDestroy', replay.exec);
    for (const sequence of replay.sequences) releaseSequence(driver, sequence);
    if (replay.ownModule) this.#context.unload(replay.ownModule);
  }

  /**
   * What a replay takes beside its launches: the time of a graph of one empty kernel, less what one more costs in a longer
   * graph. Measured once for a context.
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
      const samples = Float64Array.from({ length: OVERHEAD_SAMPLES }, () =>
        this.timedNs(() => this.#launchGraph(exec)),
      );
      return samples.sort()[OVERHEAD_SAMPLES >> 1]!;
    } finally {
      driver.result('cuGraphExecDestroy', exec);
    }
  }

  /** One sequence between two events, without a graph. */
  timeEager(module: CudaModule, plan: LaunchPlan, slot: CudaSlot): TimedOutcome {
    const { driver, stream } = this.#context;
    return this.#context.withSequence(
      module,
      plan,
      slot,
      (sequence): TimedOutcome => ({
        ok: true,
        ns: this.timedNs(() => enqueueSequence(driver, sequence, stream)),
      }),
    );
  }

  #launchGraph(exec: bigint): void {
    this.#context.driver.call('cuGraphLaunch', exec, this.#context.stream);
  }

  /** Device time in ns of what `enqueue` puts into the stream, all of it handed over before the clock starts. */
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

  /** A graph of what `enqueue` puts into the stream, on the device and ready. */
  #instantiate(enqueue: () => void): bigint {
    const { driver, stream } = this.#context;
    driver.call('cuStreamBeginCapture_v2', stream, CAPTURE_MODE_THREAD_LOCAL);
    let graph: bigint;
    try {
      enqueue();
      graph = this.#endCapture();
    } catch (error) {
      // The stream must leave capture mode, whatever became of the graph.
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
