import type { DeviceBuffer } from '../../core/device-values.ts';
import type { DType } from '../../core/dtype.ts';
import { type LaunchPlan, type PlannedBuffer, startingPattern } from '../../core/launch-plan.ts';
import type {
  Draw,
  Fill,
  MeasuringDevice,
  ReplayRound,
  Rerun,
  RoundOutcome,
  Slot,
} from '../../core/measuring-device.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { decode } from '../../core/rounding.ts';
import { createStream } from '../../stats/random.ts';
import { elementCountOf, packElements } from '../launches/layout.ts';
import { insignificantElements } from '../launches/significant.ts';
import { drawRuleOf } from './draw-rules.ts';
import { type HostInputs, prepareHostInputs } from './host-inputs.ts';
import { drawPoison, type SlotPoison } from './poisons.ts';
import type { SlotPart } from './slot-part.ts';

/** A round that the device played to its end. */
export type Played = Extract<RoundOutcome, { ok: true }>;

/** An output that seems unwritten. */
export interface Unwritten {
  readonly slot: number;
  /** In words. */
  readonly what: string;
  /** Whether its poison is a value that no right output can have. */
  readonly isCertain: boolean;
}

/**
 * Largest difference of two right results if the order of operations is free: half of the digits, as a share. A larger
 * difference is not necessarily wrong; the oracle decides.
 */
const NEAR: Partial<Record<DType, number>> = { f16: 2 ** -5, bf16: 2 ** -4, f32: 2 ** -12, f64: 2 ** -26 };

/** Allocates the slots at fresh addresses, and fills the outputs with plausible values for the first stale slots. */
export async function allocateSlots(
  measuring: MeasuringDevice,
  request: { plan: LaunchPlan; problem: Problem; dimensions: Dimensions; slotCount: number; seed: number },
): Promise<Slots> {
  const { plan, slotCount, seed } = request;
  const arenas: DeviceBuffer[][] = [];
  const allocate = async (planned: readonly PlannedBuffer[], name: string): Promise<DeviceBuffer[]> => {
    if (planned.length === 0) return [];
    const requests = planned.map(({ name, bytes, alignmentBytes }) => ({ name, bytes, alignmentBytes }));
    const buffers = await measuring.allocateArena(requests, createStream(seed, name).bits(0));
    arenas.push(buffers);
    return buffers;
  };
  try {
    const named = (buffers: readonly DeviceBuffer[]): Slot => new Map(buffers.map((buffer) => [buffer.name, buffer]));
    const inSlots = await allocate(Array.from({ length: slotCount }, () => plan.buffers).flat(), 'arena');
    const all = slices(inSlots, slotCount).map(named);
    const shared = plan.buffers.filter(({ role }) => role === 'out' || role === 'workspace');
    const own = plan.buffers.filter(({ role }) => role === 'inout');
    const inTwins = await allocate(
      [...shared, ...Array.from({ length: slotCount }, () => own).flat()],
      'arena of the reruns',
    );
    const sharedBuffers = named(inTwins.slice(0, shared.length));
    const ownBuffers = slices(inTwins.slice(shared.length), slotCount).map(named);
    const twins = all.map((slot, i): Slot => new Map([...slot, ...sharedBuffers, ...ownBuffers[i]!]));
    const slots = new Slots(measuring, request, { arenas, all, twins });
    await slots.fillOutputs(seed);
    return slots;
  } catch (error) {
    for (const arena of arenas) await measuring.freeArena(arena);
    throw error;
  }
}

/** `count` pieces of equal length. */
function slices<T>(items: readonly T[], count: number): T[][] {
  const length = items.length / count;
  return Array.from({ length: count }, (_, i) => items.slice(i * length, (i + 1) * length));
}

/** The slots of one block of one contender: their memory, and its contents before each replay. */
export class Slots {
  readonly all: readonly Slot[];
  /**
   * For each slot, the buffers in which its launch sequence runs again, on the same inputs. Outputs, workspaces and `inout`
   * buffers lie at other addresses; slots share all of them except the `inout` ones.
   */
  readonly twins: readonly Slot[];
  readonly #measuring: MeasuringDevice;
  readonly #arenas: readonly (readonly DeviceBuffer[])[];
  readonly #problem: Problem;
  readonly #plan: LaunchPlan;
  readonly #dimensions: Dimensions;
  readonly #host: HostInputs;
  #draws: { name: string; slot: number; draw: Draw }[] = [];
  #poisons: { name: string; slot: number; fill: Fill; mayHold: number; isCertain: boolean }[] = [];

  constructor(
    measuring: MeasuringDevice,
    { plan, problem, dimensions }: { plan: LaunchPlan; problem: Problem; dimensions: Dimensions },
    {
      arenas,
      all,
      twins,
    }: { arenas: readonly (readonly DeviceBuffer[])[]; all: readonly Slot[]; twins: readonly Slot[] },
  ) {
    this.#measuring = measuring;
    this.#problem = problem;
    this.#plan = plan;
    this.#dimensions = dimensions;
    this.#arenas = arenas;
    this.all = all;
    this.twins = twins;
    this.#host = prepareHostInputs({
      problem,
      dimensions,
      buffers: this.#inputs().filter((buffer) => drawRuleOf(buffer, dimensions) === undefined),
    });
  }

  /** Whether all inputs come from the device's own draws. */
  get drawnOnDevice(): boolean {
    return this.#host.isEmpty;
  }

  #inputs(): PlannedBuffer[] {
    return this.#plan.buffers.filter(({ role }) => role === 'in' || role === 'inout');
  }

  #outputs(): PlannedBuffer[] {
    return this.#plan.buffers.filter(({ role }) => role === 'out');
  }

  /** What is compared after a rerun. */
  #results(): PlannedBuffer[] {
    return this.#plan.buffers.filter(({ role }) => role === 'out' || role === 'inout');
  }

  /** Draws fresh values for every input of every slot and changes nothing else. The same seed gives the same values. */
  async drawInputs(seed: number): Promise<void> {
    this.#chooseDraws(seed);
    await this.#measuring.draw(this.#allDraws());
    await this.writeInputs(seed);
  }

  /** Draws inputs that only the host can draw; the others are part of the {@link round}. */
  async writeInputs(seed: number): Promise<void> {
    await this.#host.write(this.#measuring, this.all, this.twins, seed);
  }

  #chooseDraws(seed: number): void {
    this.#draws = this.all.flatMap((buffers, slot) =>
      this.#inputs().flatMap((planned) => {
        const rule = drawRuleOf(planned, this.#dimensions);
        if (!rule) return [];
        const stream = createStream(seed, 'draw', slot, planned.name);
        const key: Draw['key'] = [stream.bits(0), stream.bits(1)];
        return [
          { name: planned.name, slot, draw: { buffer: buffers.get(planned.name)!, dtype: planned.dtype, rule, key } },
        ];
      }),
    );
  }

  /** `inout` buffers also have a copy where their sequence runs again. */
  #allDraws(): Draw[] {
    const again = this.#draws
      .filter(({ name }) => this.#roleOf(name) === 'inout')
      .map(({ name, slot, draw }): Draw => ({ ...draw, buffer: this.twins[slot]!.get(name)! }));
    return [...this.#draws.map(({ draw }) => draw), ...again];
  }

  /** Inputs of all slots. */
  get inputs(): DeviceBuffer[] {
    return this.all.flatMap((buffers) => this.#inputs().map(({ name }) => buffers.get(name)!));
  }

  /**
   * The work around one replay: before it, draws inputs and fills workspaces and outputs; after it, checks inputs, guard
   * zones and poison; then runs the sequences of `order` again.
   *
   * @param slotCount number of sequences after which the replay ends.
   */
  round(seed: number, slotCount: number, order: readonly number[]): Omit<ReplayRound, 'chip' | 'reread'> {
    this.#chooseDraws(seed);
    this.#choosePoisons(seed);
    const workspaces = this.all.flatMap((buffers) => this.#workspaceFills(buffers, seed));
    return {
      draws: this.#allDraws(),
      fills: [...workspaces, ...this.#poisons.map(({ fill }) => fill)],
      sequenceCount: slotCount,
      unchanged: this.#constants().map(({ draw }) => draw),
      guarded: this.#arenas.flat(),
      poisons: this.#poisonsOf(slotCount).map(({ fill }) => fill),
      reruns: order.map((slot) => this.#rerunOf(slot, seed)),
    };
  }

  #constants() {
    return this.#draws.filter(({ name }) => this.#roleOf(name) === 'in');
  }

  #poisonsOf(slotCount: number) {
    return this.#poisons.filter(({ slot }) => slot < slotCount);
  }

  /**
   * Describes inputs that changed during the round, and damaged bytes outside of buffers, e.g. `input 'K' of slot 3: 17
   * elements`.
   */
  async damage({ changedElements, damagedGuards }: Played): Promise<string | undefined> {
    const constants = this.#constants();
    const found = constants.findIndex((_, i) => !(changedElements[i]! <= 0));
    if (found >= 0) {
      const { name, slot } = constants[found]!;
      return `modified input '${name}' of slot ${slot}: ${changedElements[found]} elements changed`;
    }
    const [damage] = damagedGuards;
    if (damage) return `wrote outside buffer '${damage.buffer}': ${damage.bytes} guard bytes changed`;
    return this.#host.changed(this.#measuring, this.all);
  }

  #plannedOf(name: string): PlannedBuffer {
    return this.#plan.buffers.find((buffer) => buffer.name === name)!;
  }

  #roleOf(name: string): PlannedBuffer['role'] {
    return this.#plannedOf(name).role;
  }

  /** How many elements of an output may hold anything, by the lengths in this slot. */
  async #insignificantCount(planned: PlannedBuffer, slot: number): Promise<number> {
    const first = planned.significant?.first;
    const lengths = typeof first === 'string' ? await this.#elementsOf(this.#plannedOf(first), slot) : [];
    const marks = insignificantElements(planned, () => lengths);
    return marks?.reduce((sum, mark) => sum + mark, 0) ?? 0;
  }

  async #elementsOf(planned: PlannedBuffer, slot: number): Promise<Float64Array> {
    const [bytes] = await this.#measuring.readAll([{ buffer: this.all[slot]!.get(planned.name)! }]);
    return decode(packElements(planned, bytes!), planned.dtype);
  }

  /** Plausible output values, which a stale slot holds before its first sequence. */
  async fillOutputs(seed: number): Promise<void> {
    await this.#measuring.draw(
      this.all.flatMap((buffers, slot) =>
        this.#outputs().map(({ name, dtype }): Draw => {
          const stream = createStream(seed, 'stale', slot, name);
          const rule = { kind: 'normal', mean: 0, standardDeviation: 0.25 } as const;
          return { buffer: buffers.get(name)!, dtype, rule, key: [stream.bits(0), stream.bits(1)] };
        }),
      ),
    );
  }

  #choosePoisons(seed: number): void {
    this.#poisons = [];
    for (const [slot, buffers] of this.all.entries()) {
      for (const planned of this.#outputs()) {
        const poison: SlotPoison = drawPoison(planned, createStream(seed, 'poison', slot, planned.name));
        if (poison.kind === 'stale') continue;
        const fill: Fill = { buffer: buffers.get(planned.name)!, pattern: poison.pattern };
        const { mayHold, kind } = poison;
        this.#poisons.push({ name: planned.name, slot, fill, mayHold, isCertain: kind === 'nan' });
      }
    }
  }

  /**
   * An output of the round's slots that still holds poison that it must not; if possible one that is certainly unwritten.
   */
  async unwrittenOutput({ heldElements }: Played): Promise<Unwritten | undefined> {
    const left = [];
    for (const [i, poison] of this.#poisonsOf(this.all.length).slice(0, heldElements.length).entries()) {
      const count = heldElements[i]!;
      if (count <= poison.mayHold) continue;
      const insignificant = await this.#insignificantCount(this.#plannedOf(poison.name), poison.slot);
      if (!(count <= poison.mayHold + insignificant)) left.push({ ...poison, count: count - insignificant });
    }
    const found = left.find(({ isCertain }) => isCertain) ?? left[0];
    if (!found) return undefined;
    const { name, slot, count, isCertain } = found;
    const what = `output '${name}' of launch sequence ${slot + 1} of ${this.all.length}: ${count} elements were never written`;
    return { slot, what, isCertain };
  }

  /** Describes the rerun of a slot's sequence over fresh poison, and the comparison. */
  #rerunOf(slot: number, seed: number): Rerun {
    const buffers = this.twins[slot]!;
    const poisons = this.#outputs().flatMap((planned): Fill[] => {
      const poison = drawPoison(planned, createStream(seed, 'poison of the rerun', slot, planned.name));
      return poison.kind === 'stale' ? [] : [{ buffer: buffers.get(planned.name)!, pattern: poison.pattern }];
    });
    const isBitwise = this.#problem.file.determinism === 'bitwise';
    return {
      sequence: slot,
      fills: [...poisons, ...this.#workspaceFills(buffers, createStream(seed, 'workspace of the rerun', slot).bits(0))],
      pairs: this.#results().map(({ name, dtype }) => ({
        left: this.all[slot]!.get(name)!,
        right: buffers.get(name)!,
        dtype,
        tolerance: isBitwise ? 0 : (NEAR[dtype] ?? 0),
      })),
    };
  }

  /** Describes results of a slot that differ in the rerun, from the counts of equal elements; undefined if none do. */
  async differenceOf(slot: number, equalElements: readonly number[]): Promise<string | undefined> {
    for (const [i, buffer] of this.#results().entries()) {
      // Gaps between the elements of a strided output hold poison, of two kinds.
      const elementCount = elementCountOf(buffer);
      const unequal = elementCount - equalElements[i]!;
      if (unequal <= 0) continue;
      const insignificant = await this.#insignificantCount(buffer, slot);
      if (!(unequal <= insignificant)) return `${unequal} of ${elementCount} elements of '${buffer.name}'`;
    }
    return undefined;
  }

  /** Gives workspaces their initial contents: their own or zeros for `once`, anything for `undefined`. */
  async resetWorkspaces(seed: number): Promise<void> {
    const fills = this.all.flatMap((buffers) => this.#workspaceFills(buffers, seed));
    if (fills.length > 0) await this.#measuring.fillAll(fills);
  }

  #workspaceFills(buffers: Slot, seed: number): Fill[] {
    const stream = createStream(seed, 'workspace');
    const garbage = Uint8Array.from({ length: 8 }, (_, i) => stream.bits(i) & 255);
    return this.#plan.buffers
      .filter(({ role, bytes }) => role === 'workspace' && bytes > 0)
      .map(
        (planned): Fill => ({
          buffer: buffers.get(planned.name)!,
          pattern: startingPattern(planned) ?? garbage,
        }),
      );
  }

  /** @param part only this much of them. */
  async read(slot: number, roles: readonly PlannedBuffer['role'][], part?: SlotPart): Promise<Map<string, Uint8Array>> {
    const wanted = (part?.buffers ?? this.#plan.buffers).filter(({ role }) => roles.includes(role));
    const contents = await this.#measuring.readAll(
      wanted.map(({ name, bytes }) => {
        const offsetBytes = part?.offsets.get(name) ?? 0;
        return { buffer: this.all[slot]!.get(name)!, offsetBytes, bytes };
      }),
    );
    return new Map(wanted.map(({ name }, i) => [name, contents[i]!]));
  }

  async free(): Promise<void> {
    for (const arena of this.#arenas) await this.#measuring.freeArena(arena);
  }
}
