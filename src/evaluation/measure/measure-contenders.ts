import type { GpuState, MeasuredBlock, Measurement, MeasurementConditions, Tier } from '../../core/measurement.ts';
import type { GpuUse } from '../../core/measuring-device.ts';
import type { FailureStatus } from '../../core/status.ts';
import { assessBlock } from '../../stats/assess-block.ts';
import { unsteadyBaselines } from '../../stats/baseline-steadiness.ts';
import { compareContenders } from '../../stats/compare-contenders.ts';
import { median } from '../../stats/quantile.ts';
import { belowOf, createStream, GOLDEN_FRACTION, shuffle } from '../../stats/random.ts';
import { summarise } from '../../stats/summarise.ts';
import { orDeviceTrouble } from '../launches/device-trouble.ts';
import type { Contender, ContenderBlock, ContenderFailure } from './contender.ts';
import { KeptSlots } from './kept-slots.ts';
import { planRings, type RingPlan, ringOfBlock } from './plan-ring.ts';
import { BLOCK_BUDGET_NS, fixedTier, LARGE_SLOT_BYTES, TIERS, type TierLimits } from './tiers.ts';

export interface MeasureRequest {
  /** The first is the candidate, the others are its baselines. All names differ. */
  readonly contenders: readonly Contender[];
  readonly cache: 'hot' | 'cold';
  readonly l2Bytes: number;
  readonly tier: Tier;
  /** A fixed number of counted blocks. */
  readonly blocks?: number;
  /** Seeds the statistics, and everything else if there is no secret. */
  readonly seed: number;
  /** Determines inputs, addresses, orders, poisons and compared slots. No author of a kernel can know it. */
  readonly secret?: number;
  /** What NVML says now. */
  readonly state: () => Promise<GpuState>;
  /** Others that use the GPU. */
  readonly use: GpuUse;
  readonly signal?: AbortSignal;
}

/** A contender that could not be measured, and why. */
export interface FailedContender extends Omit<ContenderFailure, 'ok'> {
  readonly contender: string;
}

export interface MeasuredContenders {
  /** By contender, in the requested order, without those that failed. */
  readonly measurements: ReadonlyMap<string, Measurement>;
  readonly blocks: readonly MeasuredBlock[];
  readonly failed: readonly FailedContender[];
  /** Baseline kernels → their block medians without the candidate, in ns; empty if no verdict was requested. */
  readonly aloneNs: ReadonlyMap<string, readonly number[]>;
  /** A kernel destroyed the device's context, and with it the memory and modules of all contenders. */
  readonly isDeviceLost: boolean;
}

/** Failures after which the device's memory is lost. */
const ENDS_THE_DEVICE: readonly FailureStatus[] = ['timed-out', 'crashed', 'device-failed'];
/** Most discarded blocks, as a multiple of the wanted blocks. Each is replaced. */
const MOST_ATTEMPTS_RATIO = 2;

/**
 * Times contenders beside each other. In each block every contender has a fresh allocation with fresh inputs, and samples
 * come in random order. Blocks that the GPU's state spoils do not count and are repeated. While a comparison of the
 * candidate is ambiguous, more blocks follow, up to the tier's limit.
 *
 * A contender that fails is dropped. If the candidate fails or the device is lost, the measurement ends.
 */
export const measureContenders = (request: MeasureRequest): Promise<MeasuredContenders> => new Measuring(request).run();

interface Entrant {
  readonly contender: Contender;
  /** Device time of one launch sequence: first estimated, then measured. */
  sequenceNs: number;
  ring: RingPlan;
  readonly eagerNs: number | undefined;
  conditions?: Pick<MeasurementConditions, 'replayOverheadNs' | 'inputs'>;
  /** Those that ended. */
  readonly blocks: ContenderBlock[];
  rerunCount: number;
}

/** If a kernel's time differs from its estimate by this factor, its ring is wrong. */
const MOST_ESTIMATE_RATIO = 1.5;
/** Most times that rings are planned again, so that a kernel with an unsteady time is measured, too. */
const MOST_PLANS = 3;
/** Reason of a discarded block after which the rings were planned again. */
const REPLANNED = 'estimates were off';

class Measuring {
  readonly #request: MeasureRequest;
  readonly #limits: TierLimits;
  readonly #secret: number;
  readonly #entrants: Entrant[] = [];
  readonly #failed: FailedContender[] = [];
  readonly #blocks: MeasuredBlock[] = [];
  readonly #disturbances = new Set<string>();
  /** What blocks kept for the oracle and nobody has compared yet. */
  readonly #kept = new KeptSlots();
  #deviceIsLost = false;
  #planCount = 0;

  constructor(request: MeasureRequest) {
    this.#request = request;
    this.#secret = request.secret ?? request.seed;
    this.#limits = request.blocks === undefined ? TIERS[request.tier] : fixedTier(request.blocks);
  }

  async run(): Promise<MeasuredContenders> {
    for (const contender of this.#request.contenders) await this.#enter(contender);
    this.#planRings();
    const startMs = performance.now();
    let wanted = this.#limits.leastBlocks;
    for (let attempt = 0; this.#goesOn(); attempt++) {
      const counted = this.#countedBlocks();
      if (counted >= wanted) {
        if (this.#limits.moreBlocks === 0 || counted >= this.#limits.mostBlocks || !this.#isAmbiguous()) break;
        wanted = Math.min(this.#limits.mostBlocks, counted + this.#limits.moreBlocks);
      }
      if (attempt >= MOST_ATTEMPTS_RATIO * this.#limits.mostBlocks) break;
      if (counted >= this.#limits.fewestBlocks && performance.now() - startMs > this.#limits.capMs) break;
      this.#request.signal?.throwIfAborted();
      await this.#request.use.alone(() => this.#block(attempt));
      if (this.#kept.isFull) await this.#judgeKept();
    }
    await this.#judgeKept();
    const aloneNs = await this.#spotChecks();
    return {
      measurements: new Map(this.#entrants.map((entrant) => [entrant.contender.name, this.#measurement(entrant)])),
      blocks: this.#blocks,
      failed: this.#failed,
      aloneNs,
      isDeviceLost: this.#deviceIsLost,
    };
  }

  /** Times the baseline kernels without the candidate. */
  async #spotChecks(): Promise<Map<string, number[]>> {
    const aloneNs = new Map<string, number[]>();
    for (const { contender } of this.#baselines().filter(({ contender: { kind } }) => kind === 'kernel')) {
      const medians: number[] = [];
      for (let number = 0; number < this.#limits.spotCheckBlocks && this.#goesOn(); number++) {
        this.#request.signal?.throwIfAborted();
        const samples = await this.#request.use.alone(() => this.#alone(contender, number));
        if (samples.length > 0) medians.push(median(samples));
      }
      if (medians.length > 0) aloneNs.set(contender.name, medians);
    }
    return aloneNs;
  }

  /** Samples of one block of one contender; none if it failed. */
  async #alone(contender: Contender, number: number): Promise<number[]> {
    const entrant = this.#entrants.find((other) => other.contender === contender);
    if (!entrant) return [];
    const ring = ringOfBlock(entrant.ring, createStream(this.#secret, 'slots alone', number).uniform(0));
    const stream = createStream(this.#secret, 'alone', number, contender.name);
    const opened = await orDeviceTrouble(contender.openBlock(ring, stream.bits(0), false));
    if (!opened.ok) return this.#spotCheckFailed(contender, opened);
    const samples: number[] = [];
    for (let i = 0; i < this.#samplesPerBlock(); i++) {
      const outcome = await orDeviceTrouble(opened.block.sample(stream.bits(1 + i)));
      if (!outcome.ok) {
        await orDeviceTrouble(opened.block.discard());
        return this.#spotCheckFailed(contender, outcome);
      }
      samples.push(outcome.ns);
    }
    await orDeviceTrouble(opened.block.discard());
    return samples;
  }

  /**
   * A baseline that passed all earlier blocks and fails now: its comparisons are lost, but the candidate is not to blame.
   */
  #spotCheckFailed(contender: Contender, failure: ContenderFailure): number[] {
    this.#leave(contender.name, failure);
    this.#deviceIsLost = true;
    return [];
  }

  get #candidate(): string {
    return this.#request.contenders[0]!.name;
  }

  #baselines(): Entrant[] {
    return this.#entrants.filter(({ contender }) => contender.name !== this.#candidate);
  }

  /** The candidate is still there, and so is the device. */
  #goesOn(): boolean {
    return !this.#deviceIsLost && this.#entrants.some(({ contender }) => contender.name === this.#candidate);
  }

  #countedBlocks(): number {
    return this.#blocks.filter(({ discarded }) => discarded === undefined).length;
  }

  #isAmbiguous(): boolean {
    return this.#baselines().some(({ contender: { name } }) => {
      const names = { candidate: this.#candidate, baseline: name };
      return compareContenders(this.#blocks, names, this.#request.seed).verdict === 'ambiguous';
    });
  }

  async #enter(contender: Contender): Promise<void> {
    if (this.#deviceIsLost) return;
    const estimate = await orDeviceTrouble(this.#request.use.alone(() => contender.estimateNs()));
    if (!estimate.ok) return this.#leave(contender.name, estimate);
    const { ns: sequenceNs, eagerNs } = estimate;
    this.#entrants.push({ contender, sequenceNs, ring: NO_RING, eagerNs, blocks: [], rerunCount: 0 });
  }

  #planRings(): void {
    this.#planCount += 1;
    const subjects = this.#entrants.map(({ contender: { slotBytes }, sequenceNs }) => ({ slotBytes, sequenceNs }));
    for (const [i, ring] of planRings(subjects, this.#request).entries()) this.#entrants[i]!.ring = ring;
  }

  /**
   * Whether the first block shows that some ring was planned from a wrong estimate; then all are planned again. Otherwise a
   * kernel that is slow while it is estimated would choose its ring. With a cold cache a kernel may rightly be slower than
   * its estimate.
   */
  #planAgain(samples: ReadonlyMap<string, readonly number[]>): boolean {
    if (this.#planCount >= MOST_PLANS) return false;
    let isOff = false;
    for (const entrant of this.#entrants) {
      const seenNs = median(samples.get(entrant.contender.name) ?? []);
      if (!(seenNs > 0)) continue;
      const ratio = entrant.sequenceNs / seenNs;
      isOff ||= ratio > MOST_ESTIMATE_RATIO || (this.#request.cache === 'hot' && ratio < 1 / MOST_ESTIMATE_RATIO);
      entrant.sequenceNs = seenNs;
    }
    if (isOff) this.#planRings();
    else this.#planCount = MOST_PLANS;
    return isOff;
  }

  #leave(contender: string, { status, reason }: ContenderFailure): void {
    this.#failed.push({ contender, status, reason });
    const at = this.#entrants.findIndex((entrant) => entrant.contender.name === contender);
    const kind = this.#request.contenders.find(({ name }) => name === contender)?.kind;
    if (at >= 0) this.#entrants.splice(at, 1);
    if (kind === 'kernel' && ENDS_THE_DEVICE.includes(status)) this.#deviceIsLost = true;
  }

  async #block(number: number): Promise<void> {
    const { state } = this.#request;
    const open = new Map<string, ContenderBlock>();
    try {
      await this.#openAll(number, open);
      const samples = new Map<string, number[]>([...open.keys()].map((name) => [name, []]));
      const before = await state();
      for (const [position, name] of this.#order(number, [...open.keys()]).entries()) {
        const block = open.get(name);
        if (!this.#goesOn()) return;
        if (!block) continue;
        const sampleSeed = createStream(this.#secret, 'sample', number, position, name).bits(0);
        const outcome = await orDeviceTrouble(block.sample(sampleSeed));
        if (outcome.ok) samples.get(name)!.push(outcome.ns);
        else await this.#abandon(name, outcome, open);
      }
      const after = await state();
      await this.#closeAll(open);
      if (this.#goesOn()) this.#record(samples, before, after);
    } finally {
      // Frees blocks that an error, or the end of the candidate or the device, left open.
      for (const block of open.values()) await orDeviceTrouble(block.discard());
    }
  }

  async #openAll(number: number, open: Map<string, ContenderBlock>): Promise<void> {
    for (const { contender, ring } of [...this.#entrants]) {
      if (!this.#goesOn()) return;
      const seed = createStream(this.#secret, 'block', number, contender.name).bits(0);
      const share = createStream(this.#secret, 'slots of block', number).uniform(0);
      const own = ringOfBlock(ring, share);
      const cuts = own.slotCount < 2 ? [] : this.#cuts(number, contender.name, ring.fewestSlotCount);
      const opening = contender.openBlock(own, seed, this.#comparesSlot(number, contender), {
        cuts,
        sampleCount: this.#samplesPerBlock(),
      });
      const outcome = await orDeviceTrouble(opening);
      if (outcome.ok) open.set(contender.name, outcome.block);
      else this.#leave(contender.name, outcome);
    }
  }

  /**
   * Where two uncounted replays of a block end: after j and after j + 1 sequences. Launches that leave work to later ones,
   * in pairs or larger groups, then miss it once. From block to block, j moves so as to cover the ring evenly.
   *
   * @param slotCount fewest slots of any block.
   */
  #cuts(number: number, name: string, slotCount: number): number[] {
    const places = Math.max(1, slotCount - 1);
    const start = createStream(this.#secret, 'cuts', name).uniform(0);
    const first = Math.floor(((start + number * GOLDEN_FRACTION) % 1) * places);
    return [first, first + 1].map((cut) => 1 + (cut % places));
  }

  /** Screens, and measurements with large slots, compare one slot of each contender, in a secret block. */
  #comparesSlot(number: number, { name, slotBytes }: Contender): boolean {
    const { comparedBlocks, fewestBlocks } = this.#limits;
    const chosen = createStream(this.#secret, 'compared block', name).bits(0) % fewestBlocks;
    return (comparedBlocks === 'all' && slotBytes <= LARGE_SLOT_BYTES) || number === chosen;
  }

  #samplesPerBlock(): number {
    const roundNs = this.#entrants.reduce(
      (sum, { sequenceNs, ring }) => sum + sequenceNs * ring.sequencesPerReplay * ring.replaysPerSample,
      0,
    );
    return Math.max(1, Math.min(this.#limits.samplesPerBlock, Math.floor(BLOCK_BUDGET_NS / roundNs)));
  }

  /** Every contender's samples, shuffled. */
  #order(number: number, names: readonly string[]): string[] {
    const stream = createStream(this.#secret, 'order', number);
    return shuffle(Array.from({ length: this.#samplesPerBlock() }, () => names).flat(), belowOf(stream));
  }

  /** Frees the memory of a contender that failed within a block. The others continue. */
  async #abandon(name: string, failure: ContenderFailure, open: Map<string, ContenderBlock>): Promise<void> {
    this.#leave(name, failure);
    const block = open.get(name)!;
    open.delete(name);
    await orDeviceTrouble(block.discard());
  }

  /** Ends the blocks. What they kept is compared later, when nothing is timed any more. */
  async #closeAll(open: Map<string, ContenderBlock>): Promise<void> {
    for (const [name, block] of [...open]) {
      if (!this.#goesOn()) return;
      open.delete(name);
      const closed = await orDeviceTrouble(block.close());
      this.#closed(name, block);
      if (!closed.ok) this.#leave(name, closed);
      else if (closed.kept) this.#kept.add({ contender: name, ...closed.kept });
    }
  }

  #closed(name: string, block: ContenderBlock): void {
    const entrant = this.#entrants.find(({ contender }) => contender.name === name)!;
    entrant.conditions = { replayOverheadNs: block.replayOverheadNs, inputs: block.inputs };
    entrant.rerunCount += block.rerunCount ?? 0;
    entrant.blocks.push(block);
  }

  /**
   * Compares what the blocks kept with the oracle. A wrong slot came before whatever ended the measurement, so it is what the contender
   * fails with.
   */
  async #judgeKept(): Promise<void> {
    for (const [name, failure] of await this.#kept.judge()) {
      const at = this.#failed.findIndex(({ contender }) => contender === name);
      if (at < 0) this.#leave(name, failure);
      else this.#failed[at] = { contender: name, status: failure.status, reason: failure.reason };
    }
  }

  #record(samples: ReadonlyMap<string, number[]>, before: GpuState, after: GpuState): void {
    const {
      discarded = this.#planAgain(samples) ? REPLANNED : undefined,
      powerCapped,
      disturbances,
    } = assessBlock(before, after);
    for (const disturbance of disturbances) this.#disturbances.add(disturbance);
    const block: MeasuredBlock = {
      samples: [...samples].map(([contender, samplesNs]) => ({ contender, samplesNs })),
      before,
      after,
      discarded,
      powerCapped,
    };
    const names = this.#baselines().map(({ contender: { name } }) => name);
    const unsteady = unsteadyBaselines(this.#blocks, block, names);
    for (const name of unsteady) this.#disturbances.add(`${name} was more than 2 % off its earlier time in some block`);
    this.#blocks.push({ ...block, unsteadyBaselines: unsteady.length > 0 ? unsteady : undefined });
  }

  #measurement({ contender, ring, eagerNs, conditions, blocks, rerunCount }: Entrant): Measurement {
    const { tier, l2Bytes, seed } = this.#request;
    const own = this.#blocks.map((block) => ({
      ...block,
      samples: block.samples.filter((samples) => samples.contender === contender.name),
    }));
    return {
      contender: contender.name,
      conditions: {
        tier,
        l2Bytes,
        ...ring,
        ringBytes: ringOfBlock(ring, 0).ringBytes,
        replayOverheadNs: 0,
        inputs: 'drawn-on-device',
        ...conditions,
      },
      summary: summarise(own, contender.name, seed),
      eagerNs,
      blocks: own,
      discardedBlockCount: own.filter(({ discarded }) => discarded !== undefined).length,
      powerCapped: own.some((block) => block.powerCapped === true),
      disturbances: [...this.#disturbances],
      checkedSlotCount: blocks.reduce((sum, block) => sum + block.checkedSlotCount, 0),
      rerunCount: rerunCount > 0 ? rerunCount : undefined,
    };
  }
}

/** Before it is known how long anything takes. */
const NO_RING: RingPlan = {
  cache: 'hot',
  slotCount: 1,
  fewestSlotCount: 1,
  ringBytes: 0,
  sequencesPerReplay: 1,
  rereadsInputs: false,
  replaysPerSample: 1,
};
