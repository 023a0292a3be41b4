import type { GpuState, MeasuredBlock, Measurement, MeasurementConditions, Tier } from '../../core/measurement.ts';
import type { FailureStatus } from '../../core/status.ts';
import { assessBlock } from '../../stats/assess-block.ts';
import { compareContenders } from '../../stats/compare-contenders.ts';
import { summarise } from '../../stats/summarise.ts';
import { orDeviceTrouble } from '../device-trouble.ts';
import { createStream } from '../random.ts';
import type { Contender, ContenderBlock, ContenderFailure, Ring } from './contender.ts';
import { planRing } from './plan-ring.ts';
import { BLOCK_BUDGET_NS, fixedTier, LARGE_SLOT_BYTES, TIERS, type TierLimits } from './tiers.ts';

export interface MeasureRequest {
  /** The first is the candidate; the others are what it is compared with. Names differ. */
  readonly contenders: readonly Contender[];
  readonly cache: 'hot' | 'cold';
  readonly l2Bytes: number;
  readonly tier: Tier;
  /** Exactly this many counted blocks, whatever they show. */
  readonly blocks?: number;
  /** Seeds the statistics, and everything else where there is no secret. */
  readonly seed: number;
  /** Chooses inputs, places, orders, poisons and which slots are compared. Nobody who writes a kernel can know it. */
  readonly secret?: number;
  /** What NVML says now. */
  readonly state: () => Promise<GpuState>;
  readonly signal?: AbortSignal;
}

/** A contender that could not be measured, and why. */
export interface FailedContender {
  readonly contender: string;
  readonly status: FailureStatus;
  readonly reason: string;
}

export interface MeasuredContenders {
  /** By contender, in the order asked for; those that failed are missing. */
  readonly measurements: ReadonlyMap<string, Measurement>;
  readonly blocks: readonly MeasuredBlock[];
  readonly failed: readonly FailedContender[];
  /** A kernel took the device's memory and modules with it, the others' too. */
  readonly isDeviceLost: boolean;
}

/** Failures after which nothing else of the device's memory is left. */
const ENDS_THE_DEVICE: readonly FailureStatus[] = ['timed-out', 'crashed', 'device-failed'];
/** Discarded blocks are made again, at most this many times the blocks wanted. */
const MOST_ATTEMPTS_RATIO = 2;

/**
 * Times contenders beside each other. A block is a fresh allocation with fresh inputs for each, in which their samples
 * come in a random order; blocks that the GPU's state spoils do not count and are made again. More blocks follow while a
 * comparison of the candidate is ambiguous, up to the tier's limit.
 *
 * A contender that fails leaves; when the candidate fails, or the device is lost, measuring ends.
 */
export const measureContenders = (request: MeasureRequest): Promise<MeasuredContenders> => new Measuring(request).run();

interface Entrant {
  readonly contender: Contender;
  readonly ring: Ring;
  /** Rough device time of one sample. */
  readonly sampleNs: number;
  readonly eagerNs?: number;
  conditions?: Pick<MeasurementConditions, 'replayOverheadNs' | 'inputs'>;
  checkedSlotCount: number;
}

class Measuring {
  readonly #request: MeasureRequest;
  readonly #limits: TierLimits;
  readonly #secret: number;
  readonly #entrants: Entrant[] = [];
  readonly #failed: FailedContender[] = [];
  readonly #blocks: MeasuredBlock[] = [];
  readonly #disturbances = new Set<string>();
  #deviceIsLost = false;

  constructor(request: MeasureRequest) {
    this.#request = request;
    this.#secret = request.secret ?? request.seed;
    this.#limits = request.blocks === undefined ? TIERS[request.tier] : fixedTier(request.blocks);
  }

  async run(): Promise<MeasuredContenders> {
    for (const contender of this.#request.contenders) await this.#enter(contender);
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
      await this.#block(attempt);
    }
    return {
      measurements: new Map(this.#entrants.map((entrant) => [entrant.contender.name, this.#measurement(entrant)])),
      blocks: this.#blocks,
      failed: this.#failed,
      isDeviceLost: this.#deviceIsLost,
    };
  }

  /** The candidate is still there, and so is the device. */
  #goesOn(): boolean {
    const candidate = this.#request.contenders[0]!.name;
    return !this.#deviceIsLost && this.#entrants.some(({ contender }) => contender.name === candidate);
  }

  #countedBlocks(): number {
    return this.#blocks.filter(({ discarded }) => discarded === undefined).length;
  }

  #isAmbiguous(): boolean {
    const candidate = this.#request.contenders[0]!.name;
    return this.#entrants
      .filter(({ contender }) => contender.name !== candidate)
      .some(({ contender: { name } }) => {
        const names = { candidate, baseline: name };
        return compareContenders(this.#blocks, names, this.#request.seed).verdict === 'ambiguous';
      });
  }

  async #enter(contender: Contender): Promise<void> {
    if (this.#deviceIsLost) return;
    const estimate = await orDeviceTrouble(contender.estimateNs());
    if (!estimate.ok) return this.#leave(contender.name, estimate);
    const { l2Bytes, cache } = this.#request;
    const ring = planRing({ slotBytes: contender.slotBytes, sequenceNs: estimate.ns, l2Bytes, cache });
    const eager = estimate.eagerNs === undefined ? {} : { eagerNs: estimate.eagerNs };
    const sampleNs = estimate.ns * ring.sequencesPerReplay * ring.replaysPerSample;
    this.#entrants.push({ contender, ring, sampleNs, ...eager, checkedSlotCount: 0 });
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
      for (const name of [...open.keys()]) if (this.#goesOn()) await this.#close(name, open);
      if (this.#goesOn()) this.#record(samples, before, after);
    } finally {
      // What an error, or the end of the candidate or the device, has left open.
      for (const block of open.values()) await orDeviceTrouble(block.discard());
    }
  }

  async #openAll(number: number, open: Map<string, ContenderBlock>): Promise<void> {
    for (const { contender, ring } of [...this.#entrants]) {
      if (!this.#goesOn()) return;
      const seed = createStream(this.#secret, 'block', number, contender.name).bits(0);
      const opening = contender.openBlock(ring, seed, this.#comparesSlot(number, contender));
      const outcome = await orDeviceTrouble(opening);
      if (outcome.ok) open.set(contender.name, outcome.block);
      else this.#leave(contender.name, outcome);
    }
  }

  /** Screens compare one slot of each contender, and so do large slots; which block it is in is secret. */
  #comparesSlot(number: number, { name, slotBytes }: Contender): boolean {
    const { comparedBlocks, fewestBlocks } = this.#limits;
    const chosen = createStream(this.#secret, 'compared block', name).bits(0) % fewestBlocks;
    return (comparedBlocks === 'all' && slotBytes <= LARGE_SLOT_BYTES) || number === chosen;
  }

  #samplesPerBlock(): number {
    const roundNs = this.#entrants.reduce((sum, { sampleNs }) => sum + sampleNs, 0);
    return Math.max(1, Math.min(this.#limits.samplesPerBlock, Math.floor(BLOCK_BUDGET_NS / roundNs)));
  }

  /** Every contender's samples, shuffled. */
  #order(number: number, names: readonly string[]): string[] {
    const stream = createStream(this.#secret, 'order', number);
    const order = Array.from({ length: this.#samplesPerBlock() }, () => names).flat();
    for (let i = order.length - 1; i > 0; i--) {
      const other = stream.bits(i) % (i + 1);
      [order[i], order[other]] = [order[other]!, order[i]!];
    }
    return order;
  }

  /** A contender that failed in the middle of a block: what it holds is freed, the others go on. */
  async #abandon(name: string, failure: ContenderFailure, open: Map<string, ContenderBlock>): Promise<void> {
    this.#leave(name, failure);
    const block = open.get(name)!;
    open.delete(name);
    await orDeviceTrouble(block.discard());
  }

  async #close(name: string, open: Map<string, ContenderBlock>): Promise<void> {
    const block = open.get(name)!;
    open.delete(name);
    const closed = await orDeviceTrouble(block.close());
    const entrant = this.#entrants.find(({ contender }) => contender.name === name)!;
    entrant.conditions = { replayOverheadNs: block.replayOverheadNs, inputs: block.inputs };
    entrant.checkedSlotCount += block.checkedSlotCount;
    if (!closed.ok) this.#leave(name, closed);
  }

  #record(samples: ReadonlyMap<string, number[]>, before: GpuState, after: GpuState): void {
    const { discarded, powerCapped, disturbances } = assessBlock(before, after);
    for (const disturbance of disturbances) this.#disturbances.add(disturbance);
    this.#blocks.push({
      samples: [...samples].map(([contender, samplesNs]) => ({ contender, samplesNs })),
      before,
      after,
      ...(discarded !== undefined && { discarded }),
      ...(powerCapped && { powerCapped }),
    });
  }

  #measurement({ contender, ring, eagerNs, conditions, checkedSlotCount }: Entrant): Measurement {
    const { tier, l2Bytes, seed } = this.#request;
    const own = this.#blocks.map((block) => ({
      ...block,
      samples: block.samples.filter((samples) => samples.contender === contender.name),
    }));
    return {
      contender: contender.name,
      conditions: { tier, l2Bytes, ...ring, replayOverheadNs: 0, inputs: 'drawn-on-device', ...conditions },
      summary: summarise(own, contender.name, seed),
      ...(eagerNs !== undefined && { eagerNs }),
      blocks: own,
      discardedBlockCount: own.filter(({ discarded }) => discarded !== undefined).length,
      powerCapped: own.some((block) => block.powerCapped === true),
      disturbances: [...this.#disturbances],
      checkedSlotCount,
    };
  }
}
