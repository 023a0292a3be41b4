import type { LoadedModule } from '../../core/device-values.ts';
import type { EnergyWindow } from '../../core/energy.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { MeasurementConditions } from '../../core/measurement.ts';
import type { MeasuringDevice, Replay } from '../../core/measuring-device.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { belowOf, createStream, type RandomStream, shuffle } from '../../stats/random.ts';
import { type ContenderBlock, type ContenderFailure, contenderFailure, type Ring } from './contender.ts';
import type { SlotContents, SlotJudge } from './slot-judge.ts';
import { partOfSlot, type SlotPart } from './slot-part.ts';
import { allocateSlots, type Played, type Slots } from './slots.ts';

/** A verified candidate, loaded. */
export interface TimedKernel {
  readonly module: LoadedModule;
  readonly plan: LaunchPlan;
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  /** Compares outputs of a slot with what its inputs demand. */
  readonly judge: SlotJudge;
  /** Limit of one launch sequence, in ms; of a block, of one replay. */
  readonly timeoutMs: number;
}

export interface KernelBlockOptions extends TimedKernel {
  readonly measuring: MeasuringDevice;
  readonly ring: Ring;
  readonly seed: number;
  /** Compares a slot of a secret sample with the oracle. */
  readonly compares: 'whole' | 'part' | 'nothing';
  /** Samples that the block will have. */
  readonly sampleCount: number;
  /** Numbers of sequences after which uncounted replays end. */
  readonly cuts: readonly number[];
  /** Whether an uncounted warm-up replay comes first; short replays are slowed by cold instruction caches and clocks. */
  readonly warmsUp: boolean;
}

/**
 * Most suspect slots of a block that are compared with the oracle. If a kernel's right results look suspect, all its slots
 * do.
 */
const MOST_SUSPECTS = 2;
/** Most sequences of a replay that run again: all, or a secret selection in very long rings. */
const MOST_RERUNS = 1024;

/** Contents of a slot, or of a part of it, and the sequence that it belongs to. */
interface KeptSlot {
  readonly where: string;
  readonly contents: SlotContents;
  readonly part?: SlotPart | undefined;
}

const bytesOf = (kept: readonly KeptSlot[]): number =>
  kept
    .flatMap(({ contents: { inputs, outputs } }) => [...inputs.values(), ...outputs.values()])
    .reduce((sum, { byteLength }) => sum + byteLength, 0);

type Timed = { ok: true; ns: number } | ContenderFailure;

/** What one replay is for. */
interface ReplayPurpose {
  readonly seed: number;
  /** Whether to keep a slot for comparison with the oracle. */
  readonly keeps?: boolean;
  /** Number of sequences after which the replay ends; all by default. */
  readonly cut?: number;
}

const noEnergy = (reason: string): ContenderFailure => ({ ok: false, status: 'unsupported', reason });

/** One block of a kernel: fresh memory, one graph, and samples with all their checks. */
export class KernelBlock implements ContenderBlock {
  readonly #options: KernelBlockOptions;
  readonly #slots: Slots;
  readonly #secret: RandomStream;
  readonly #replay: Replay;
  /** Of the cut replays that are still to come. */
  readonly #cuts: number[];
  #sampleCount = 0;
  #suspectCount = 0;
  replayOverheadNs = 0;
  /** Contents of secret slots, with the sequence that each belongs to. */
  readonly #kept: KeptSlot[] = [];
  readonly #part: SlotPart | undefined;
  checkedSlotCount = 0;
  rerunCount = 0;

  private constructor(options: KernelBlockOptions, slots: Slots, replay: Replay) {
    this.#options = options;
    this.#slots = slots;
    this.#replay = replay;
    this.#secret = createStream(options.seed, 'checked slots');
    this.#cuts = [...options.cuts];
    const { problem, dimensions, compares, seed } = options;
    this.#part = compares === 'part' ? partOfSlot(problem, dimensions, createStream(seed, 'part')) : undefined;
  }

  get #compares(): boolean {
    return this.#options.compares === 'whole' || this.#part !== undefined;
  }

  /** Allocates. Unless replays are long, also replays once as a warm-up with all checks, cut short if possible. */
  static async open(options: KernelBlockOptions): Promise<{ ok: true; block: KernelBlock } | ContenderFailure> {
    const { measuring, module, ring, seed, plan, problem, dimensions } = options;
    const slots = await allocateSlots(measuring, { plan, problem, dimensions, slotCount: ring.slotCount, seed });
    let block: KernelBlock | undefined;
    try {
      const prepared = await measuring.prepareReplay(module, plan, slots.all, slots.twins);
      if (!prepared.ok) {
        await slots.free();
        return contenderFailure(prepared);
      }
      block = new KernelBlock(options, slots, prepared.replay);
      block.replayOverheadNs = await measuring.replayOverheadNs();
      if (!options.warmsUp) return { ok: true, block };
      const cut = block.#cuts.shift();
      const warmUp = await block.#replayOnce({
        seed: createStream(seed, 'warm-up').bits(0),
        cut,
      });
      if (warmUp.ok) return { ok: true, block };
      await block.discard();
      return warmUp;
    } catch (error) {
      if (block) await block.discard();
      else await slots.free();
      throw error;
    }
  }

  get inputs(): MeasurementConditions['inputs'] {
    return this.#slots.drawnOnDevice ? 'drawn-on-device' : 'drawn-on-host';
  }

  async sample(seed: number): Promise<Timed> {
    const { ring, sampleCount } = this.#options;
    const stream = createStream(seed, 'replays');
    const number = this.#sampleCount++;
    const isChecked = this.#compares && number === this.#secret.bits(0) % sampleCount;
    const checked = isChecked ? this.#secret.bits(1) % ring.replaysPerSample : -1;
    if (number === this.#secret.bits(3) % sampleCount) {
      const cut = await this.#remainingCuts();
      if (!cut.ok) return cut;
    }
    let totalNs = 0;
    for (let i = 0; i < ring.replaysPerSample; i++) {
      const outcome = await this.#replayOnce({ seed: stream.bits(i), keeps: i === checked });
      if (!outcome.ok) return outcome;
      totalNs += outcome.ns;
    }
    return { ok: true, ns: totalNs / (ring.replaysPerSample * ring.sequencesPerReplay) };
  }

  async energy(seed: number, leastMs: number): Promise<{ ok: true; window: EnergyWindow } | ContenderFailure> {
    const { measuring, plan, ring, timeoutMs } = this.#options;
    if (plan.buffers.some(({ role }) => role === 'inout'))
      return noEnergy('it overwrites its inputs, so that launches in a row would not do the same');
    const checked = await this.#replayOnce({ seed });
    if (!checked.ok) return checked;
    const outcome = await measuring.energyOf!(this.#replay, { leastMs, timeoutMs });
    if (!outcome.ok) return contenderFailure(outcome);
    if ('why' in outcome) return noEnergy(outcome.why);
    const { joules, seconds, replays } = outcome;
    return { ok: true, window: { joules, seconds, sequences: replays * ring.sequencesPerReplay } };
  }

  async close(): ReturnType<ContenderBlock['close']> {
    try {
      const cut = await this.#remainingCuts();
      if (!cut.ok) return cut;
      if (this.#compares && this.#kept.length === 0) {
        const last = await this.#replayOnce({ seed: this.#secret.bits(2), keeps: true });
        if (!last.ok) return last;
      }
      return this.#kept.length === 0
        ? { ok: true }
        : { ok: true, kept: { bytes: bytesOf(this.#kept), judge: () => this.#judgeKept() } };
    } finally {
      await this.discard();
    }
  }

  async discard(): Promise<void> {
    const { measuring } = this.#options;
    await measuring.releaseReplay(this.#replay);
    await this.#slots.free();
  }

  /** Replays that end at a secret place. Every launch before it must have done all of its work. */
  async #remainingCuts(): Promise<{ ok: true } | ContenderFailure> {
    for (let cut = this.#cuts.shift(); cut !== undefined; cut = this.#cuts.shift()) {
      const outcome = await this.#replayOnce({ seed: createStream(this.#options.seed, 'cut', cut).bits(0), cut });
      if (!outcome.ok) return outcome;
    }
    return { ok: true };
  }

  async #judgeKept(): Promise<{ ok: true } | ContenderFailure> {
    const { judge, seed } = this.#options;
    for (const { where, contents, part } of this.#kept.splice(0)) {
      const wrong = await (part ? judge.part(part, contents, seed) : judge.whole(contents));
      this.checkedSlotCount += 1;
      if (wrong)
        return { ok: false, status: 'wrong', reason: `right when verified, wrong when timed (${where}): ${wrong}` };
    }
    return { ok: true };
  }

  /** Draws, poisons and restores; times; checks the sequences' results and runs them again; all in one message. */
  async #replayOnce({ seed, keeps = false, cut }: ReplayPurpose): Promise<Timed> {
    const { measuring, ring, timeoutMs } = this.#options;
    const slots = this.#slots;
    const slotCount = cut ?? ring.slotCount;
    await slots.writeInputs(seed);
    const chip = { key: createStream(seed, 'chip').bits(0), isL2Swept: ring.cache === 'cold' };
    const order = shuffle([...Array(slotCount).keys()], belowOf(createStream(seed, 'rerun'))).slice(0, MOST_RERUNS);
    const reread = ring.rereadsInputs ? slots.inputs : [];
    const round = { ...slots.round(seed, slotCount, order), chip, reread };
    const played = await measuring.replayOnce(this.#replay, round, timeoutMs);
    if (!played.ok) return contenderFailure(played);
    const wrong = await this.#look(seed, slotCount, order, played);
    if (wrong) return wrong;
    if (keeps) await this.#keepSlot(this.#slotToKeep(seed), seed, this.#part);
    return { ok: true, ns: Math.max(0, played.ns - this.replayOverheadNs) };
  }

  /** All damage that the device can detect, in the slots that the replay reached. */
  async #look(
    seed: number,
    slotCount: number,
    order: readonly number[],
    played: Played,
  ): Promise<ContenderFailure | undefined> {
    const { ring } = this.#options;
    const slots = this.#slots;
    const cutShort = slotCount < ring.slotCount ? `in a replay that ended after ${slotCount} launch sequences, ` : '';
    const unsafe = await slots.damage(played);
    if (unsafe) return { ok: false, status: 'unsafe', reason: `${unsafe}, while it was timed` };
    const unwritten = await slots.unwrittenOutput(played);
    if (unwritten?.isCertain) {
      const reason = `right when verified, not when timed: ${cutShort}${unwritten.what}`;
      return { ok: false, status: 'wrong', reason };
    }
    const rerun = await this.#differing(order, played, cutShort);
    if (!rerun.ok) return rerun;
    const suspect = rerun.suspect ?? unwritten?.slot;
    if (suspect !== undefined && this.#suspectCount++ < MOST_SUSPECTS) await this.#keepSlot(suspect, seed);
    return undefined;
  }

  /**
   * Compares every sequence with its rerun, in a secret order: equal inputs must give equal results. If the order of
   * operations is free, a slot with a large difference is suspect.
   */
  async #differing(
    order: readonly number[],
    { equalElements }: Played,
    cutShort: string,
  ): Promise<{ ok: true; suspect?: number } | ContenderFailure> {
    const { problem, ring } = this.#options;
    this.rerunCount += order.length;
    for (const [i, slot] of order.entries()) {
      const difference = await this.#slots.differenceOf(slot, equalElements[i]!);
      if (difference === undefined) continue;
      if (problem.file.determinism === 'bitwise') {
        const where = `launch sequence ${slot + 1} of ${ring.sequencesPerReplay}`;
        const what = `${cutShort}${difference} are not what ${where} gives by itself`;
        return { ok: false, status: 'wrong', reason: `right when verified, not when timed: ${what}` };
      }
      return { ok: true, suspect: slot };
    }
    return { ok: true };
  }

  /** Keeps a slot, or a part of it, for the oracle. If the sequence changed its inputs, they are drawn again. */
  async #keepSlot(slot: number, seed: number, part?: SlotPart): Promise<void> {
    const slots = this.#slots;
    const outputs = await slots.read(slot, ['out', 'inout'], part);
    if (this.#options.plan.buffers.some(({ role }) => role === 'inout')) await slots.drawInputs(seed);
    const inputs = await slots.read(slot, ['in', 'inout'], part);
    const where = `launch sequence ${slot + 1} of ${this.#options.ring.sequencesPerReplay}`;
    this.#kept.push({ where, contents: { inputs, outputs }, part });
  }

  /** The last slot in half of the cases, because postponed work shows there; otherwise any slot. */
  #slotToKeep(seed: number): number {
    const stream = createStream(seed, 'slot');
    const { slotCount } = this.#options.ring;
    return stream.bits(0) % 2 === 0 ? slotCount - 1 : stream.bits(1) % slotCount;
  }
}
