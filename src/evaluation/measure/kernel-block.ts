import type { LoadedModule } from '../../core/device.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { MeasurementConditions } from '../../core/measurement.ts';
import type { MeasuringDevice, Replay } from '../../core/measuring-device.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { createStream, type RandomStream } from '../random.ts';
import type { ContenderBlock, ContenderFailure, Ring } from './contender.ts';
import { contenderFailure } from './contender-failure.ts';
import type { SlotContents, SlotJudge } from './slot-judge.ts';
import { allocateSlots, type Slots } from './slots.ts';

export interface KernelBlockOptions {
  readonly measuring: MeasuringDevice;
  readonly module: LoadedModule;
  readonly plan: LaunchPlan;
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  readonly judge: SlotJudge;
  readonly timeoutMs: number;
  readonly ring: Ring;
  readonly seed: number;
  readonly comparesSlot: boolean;
  /** Whether a replay that does not count comes first: cold instruction caches and clocks are felt by it. */
  readonly warmsUp: boolean;
}

/** One of a block's first samples is looked at; which is secret. */
const SAMPLES_TO_CHOOSE_FROM = 3;
/** Slots of a block that are compared because they look unwritten: kernels of which that is right have it everywhere. */
const MOST_SUSPECTS = 2;

/** One block of a kernel: fresh memory, one graph, samples with everything about them checked. */
export class KernelBlock implements ContenderBlock {
  readonly #options: KernelBlockOptions;
  readonly #slots: Slots;
  readonly #secret: RandomStream;
  #replay: Replay | undefined;
  #sampleCount = 0;
  #suspectCount = 0;
  replayOverheadNs = 0;
  /** Contents of secretly chosen slots, with the sequence they belong to. */
  readonly #kept: { where: string; contents: SlotContents }[] = [];
  checkedSlotCount = 0;

  private constructor(options: KernelBlockOptions, slots: Slots) {
    this.#options = options;
    this.#slots = slots;
    this.#secret = createStream(options.seed, 'checked slots');
  }

  /** Allocates, and unless replays are long, captures the graph and runs it once as a warm-up, checks included. */
  static async open(options: KernelBlockOptions): Promise<{ ok: true; block: KernelBlock } | ContenderFailure> {
    const { measuring, ring, seed, plan, problem, dimensions } = options;
    const slots = await allocateSlots(measuring, { plan, problem, dimensions, slotCount: ring.slotCount, seed });
    const block = new KernelBlock(options, slots);
    try {
      block.replayOverheadNs = await measuring.replayOverheadNs();
      if (!options.warmsUp) return { ok: true, block };
      const warmUp = await block.#replayOnce(createStream(seed, 'warm-up').bits(0), false);
      if (warmUp.ok) return { ok: true, block };
      await block.discard();
      return warmUp;
    } catch (error) {
      await block.discard();
      throw error;
    }
  }

  get inputs(): MeasurementConditions['inputs'] {
    return this.#slots.drawnOnDevice ? 'drawn-on-device' : 'drawn-on-host';
  }

  async sample(seed: number): Promise<{ ok: true; ns: number } | ContenderFailure> {
    const { ring, comparesSlot } = this.#options;
    const stream = createStream(seed, 'replays');
    const isChecked = comparesSlot && this.#sampleCount++ === this.#secret.bits(0) % SAMPLES_TO_CHOOSE_FROM;
    const checked = isChecked ? this.#secret.bits(1) % ring.replaysPerSample : -1;
    let totalNs = 0;
    for (let i = 0; i < ring.replaysPerSample; i++) {
      const outcome = await this.#replayOnce(stream.bits(i), i === checked);
      if (!outcome.ok) return outcome;
      totalNs += outcome.ns;
    }
    return { ok: true, ns: totalNs / (ring.replaysPerSample * ring.sequencesPerReplay) };
  }

  async close(): Promise<{ ok: true } | ContenderFailure> {
    try {
      if (this.#options.comparesSlot && this.#kept.length === 0) {
        const last = await this.#replayOnce(this.#secret.bits(2), true);
        if (!last.ok) return last;
      }
      const damage = await this.#slots.damagedGuards();
      if (damage) return { ok: false, status: 'unsafe', reason: `${damage}, while it was timed` };
      return await this.#judgeKept();
    } finally {
      await this.discard();
    }
  }

  async discard(): Promise<void> {
    if (this.#replay) await this.#options.measuring.releaseReplay(this.#replay);
    this.#replay = undefined;
    await this.#slots.free();
  }

  async #judgeKept(): Promise<{ ok: true } | ContenderFailure> {
    for (const { where, contents } of this.#kept) {
      const wrong = await this.#options.judge(contents);
      this.checkedSlotCount += 1;
      if (wrong)
        return { ok: false, status: 'wrong', reason: `right when verified, wrong when timed (${where}): ${wrong}` };
    }
    return { ok: true };
  }

  /** Draws, poisons and restores; times; looks at what the sequences did. */
  async #replayOnce(seed: number, keep: boolean): Promise<{ ok: true; ns: number } | ContenderFailure> {
    const { measuring, timeoutMs } = this.#options;
    const slots = this.#slots;
    await slots.drawInputs(seed);
    // After the inputs: a workspace that fills the ring pushes them out of L2 as other slots would.
    await slots.resetWorkspaces(seed);
    await slots.poisonOutputs(seed);
    const slot = this.#slotToKeep(seed);
    const initial = keep ? await slots.read(slot, ['inout']) : undefined;
    const ready = await this.#ready();
    if (!('sequenceCount' in ready)) return ready;
    const timed = await measuring.time(ready, timeoutMs);
    if (!timed.ok) return contenderFailure(timed);
    const changed = await slots.changedInputs();
    if (changed) return { ok: false, status: 'unsafe', reason: `${changed}, while it was timed` };
    const unwritten = await slots.unwrittenOutput();
    if (unwritten?.isCertain)
      return { ok: false, status: 'wrong', reason: `right when verified, not when timed: ${unwritten.what}` };
    if (initial) {
      const inputs = new Map([...(await slots.read(slot, ['in'])), ...initial]);
      this.#keep(slot, { inputs, outputs: await slots.read(slot, ['out', 'inout']) });
    }
    if (unwritten) await this.#keepSuspect(unwritten.slot, seed);
    return { ok: true, ns: Math.max(0, timed.ns - this.replayOverheadNs) };
  }

  #keep(slot: number, contents: SlotContents): void {
    this.#kept.push({ where: `launch sequence ${slot + 1} of ${this.#options.ring.sequencesPerReplay}`, contents });
  }

  /** Right outputs may hold a plausible poison in many places: the oracle tells, on the inputs drawn once more. */
  async #keepSuspect(slot: number, seed: number): Promise<void> {
    if (this.#suspectCount++ >= MOST_SUSPECTS) return;
    const outputs = await this.#slots.read(slot, ['out', 'inout']);
    await this.#slots.drawInputs(seed);
    this.#keep(slot, { inputs: await this.#slots.read(slot, ['in', 'inout']), outputs });
  }

  /** The last slot half of the time, since work that is put off shows there; else any. */
  #slotToKeep(seed: number): number {
    const stream = createStream(seed, 'slot');
    const { slotCount } = this.#options.ring;
    return stream.bits(0) % 2 === 0 ? slotCount - 1 : stream.bits(1) % slotCount;
  }

  /** The graph; captured anew for every replay where the module remembers, from its variables' initial values. */
  async #ready(): Promise<Replay | ContenderFailure> {
    const { measuring, module, plan } = this.#options;
    if (this.#replay && !measuring.hasState(module)) return this.#replay;
    if (this.#replay) await measuring.releaseReplay(this.#replay);
    this.#replay = undefined;
    const prepared = await measuring.prepareReplay(module, plan, this.#slots.all);
    if (!prepared.ok) return contenderFailure(prepared);
    this.#replay = prepared.replay;
    return prepared.replay;
  }
}
