import type { DeviceBuffer } from '../../core/device.ts';
import type { LaunchPlan, PlannedBuffer } from '../../core/launch-plan.ts';
import type { Draw, Fill, MeasuringDevice, Slot } from '../../core/measuring-device.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { createStream } from '../random.ts';
import { drawRuleOf } from './draw-rules.ts';
import { type HostInputs, prepareHostInputs } from './host-inputs.ts';
import { drawPoison, type SlotPoison } from './poisons.ts';

/** The slots of one block of one contender: their memory, and what is put there before each replay. */
export interface Slots {
  readonly all: readonly Slot[];
  /** Fresh values for every input of every slot. The same seed gives the same values. */
  drawInputs(seed: number): Promise<void>;
  /** Inputs that are no longer what the last draw put there, e.g. `input 'K' of slot 3: 17 elements`. */
  changedInputs(): Promise<string | undefined>;
  poisonOutputs(seed: number): Promise<void>;
  /** An output that still holds its poison where it must not; a certain one, where there is any. */
  unwrittenOutput(): Promise<Unwritten | undefined>;
  /** Workspaces as a kernel may expect them at first: zeros where zeroed once, anything where undefined. */
  resetWorkspaces(seed: number): Promise<void>;
  damagedGuards(): Promise<string | undefined>;
  read(slot: number, roles: readonly PlannedBuffer['role'][]): Promise<Map<string, Uint8Array>>;
  /** Whether all inputs come from the device's own draws. */
  readonly drawnOnDevice: boolean;
  free(): Promise<void>;
}

/** An output that looks as if it had not been written. */
export interface Unwritten {
  readonly slot: number;
  /** In words. */
  readonly what: string;
  /** Its poison is no value that a right output can have. */
  readonly isCertain: boolean;
}

const ZERO = new Uint8Array(1);

/** Allocates the slots at fresh places and fills the outputs with values such as right ones, for the first stale slots. */
export const allocateSlots = async (
  measuring: MeasuringDevice,
  request: { plan: LaunchPlan; problem: Problem; dimensions: Dimensions; slotCount: number; seed: number },
): Promise<Slots> => {
  const { plan, slotCount, seed } = request;
  const requests = Array.from({ length: slotCount }, () => plan.buffers).flat();
  const buffers = await measuring.allocateArena(
    requests.map(({ name, bytes, alignmentBytes }) => ({ name, bytes, alignmentBytes })),
    createStream(seed, 'arena').bits(0),
  );
  const all = Array.from({ length: slotCount }, (_, slot): Slot => {
    const own = buffers.slice(slot * plan.buffers.length, (slot + 1) * plan.buffers.length);
    return new Map(plan.buffers.map(({ name }, i) => [name, own[i]!]));
  });
  const slots = new DeviceSlots(measuring, request, buffers, all);
  try {
    await slots.fillOutputs(seed);
    return slots;
  } catch (error) {
    await slots.free();
    throw error;
  }
};

class DeviceSlots implements Slots {
  readonly all: readonly Slot[];
  readonly #measuring: MeasuringDevice;
  readonly #buffers: readonly DeviceBuffer[];
  readonly #plan: LaunchPlan;
  readonly #dimensions: Dimensions;
  readonly #host: HostInputs;
  #draws: { name: string; slot: number; draw: Draw }[] = [];
  #poisons: { name: string; slot: number; fill: Fill; mayHold: number; isCertain: boolean }[] = [];

  constructor(
    measuring: MeasuringDevice,
    { plan, problem, dimensions }: { plan: LaunchPlan; problem: Problem; dimensions: Dimensions },
    buffers: readonly DeviceBuffer[],
    all: readonly Slot[],
  ) {
    this.#measuring = measuring;
    this.#plan = plan;
    this.#dimensions = dimensions;
    this.#buffers = buffers;
    this.all = all;
    this.#host = prepareHostInputs({
      problem,
      dimensions,
      buffers: this.#inputs().filter((buffer) => drawRuleOf(buffer, dimensions) === undefined),
    });
  }

  get drawnOnDevice(): boolean {
    return this.#host.isEmpty;
  }

  #inputs(): PlannedBuffer[] {
    return this.#plan.buffers.filter(({ role }) => role === 'in' || role === 'inout');
  }

  #outputs(): PlannedBuffer[] {
    return this.#plan.buffers.filter(({ role }) => role === 'out');
  }

  async drawInputs(seed: number): Promise<void> {
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
    await this.#measuring.draw(this.#draws.map(({ draw }) => draw));
    await this.#host.write(this.#measuring, this.all, seed);
  }

  async changedInputs(): Promise<string | undefined> {
    const constant = this.#draws.filter(({ name }) => this.#roleOf(name) === 'in');
    const counts = await this.#measuring.changedSinceDraw(constant.map(({ draw }) => draw));
    const found = counts.findIndex((count) => !(count <= 0));
    if (found < 0) return this.#host.changed(this.#measuring, this.all);
    return `modified input '${constant[found]!.name}' of slot ${constant[found]!.slot}: ${counts[found]} elements changed`;
  }

  #roleOf(name: string): PlannedBuffer['role'] {
    return this.#plan.buffers.find((buffer) => buffer.name === name)!.role;
  }

  /** Values such as right outputs have: what a slot left stale holds before its first sequence. */
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

  async poisonOutputs(seed: number): Promise<void> {
    this.#poisons = [];
    for (const [slot, buffers] of this.all.entries()) {
      for (const planned of this.#outputs()) {
        const poison: SlotPoison = drawPoison(planned, createStream(seed, 'poison', slot, planned.name));
        if (poison.kind === 'stale') continue;
        const fill: Fill = { buffer: buffers.get(planned.name)!, pattern: poison.pattern };
        this.#poisons.push({
          name: planned.name,
          slot,
          fill,
          mayHold: poison.mayHold,
          isCertain: poison.kind === 'nan',
        });
      }
    }
    await this.#measuring.fillAll(this.#poisons.map(({ fill }) => fill));
  }

  async unwrittenOutput(): Promise<Unwritten | undefined> {
    const counts = await this.#measuring.elementsHolding(this.#poisons.map(({ fill }) => fill));
    const left = this.#poisons
      .map((poison, i) => ({ ...poison, count: counts[i]! }))
      .filter(({ count, mayHold }) => !(count <= mayHold));
    const found = left.find(({ isCertain }) => isCertain) ?? left[0];
    if (!found) return undefined;
    const { name, slot, count, isCertain } = found;
    const what = `output '${name}' of launch sequence ${slot + 1} of ${this.all.length}: ${count} elements were never written`;
    return { slot, what, isCertain };
  }

  async resetWorkspaces(seed: number): Promise<void> {
    const stream = createStream(seed, 'workspace');
    const garbage = Uint8Array.from({ length: 8 }, (_, i) => stream.bits(i) & 255);
    await this.#measuring.fillAll(
      this.all.flatMap((buffers) =>
        this.#plan.buffers
          .filter(({ role, bytes }) => role === 'workspace' && bytes > 0)
          .map(({ name, init }): Fill => ({ buffer: buffers.get(name)!, pattern: init === 'once' ? ZERO : garbage })),
      ),
    );
  }

  async damagedGuards(): Promise<string | undefined> {
    const [damage] = await this.#measuring.damagedArenaGuards(this.#buffers);
    return damage && `wrote outside buffer '${damage.buffer}': ${damage.bytes} guard bytes changed`;
  }

  async read(slot: number, roles: readonly PlannedBuffer['role'][]): Promise<Map<string, Uint8Array>> {
    const wanted = this.#plan.buffers.filter(({ role }) => roles.includes(role));
    const contents = await this.#measuring.readAll(wanted.map(({ name }) => this.all[slot]!.get(name)!));
    return new Map(wanted.map(({ name }, i) => [name, contents[i]!]));
  }

  async free(): Promise<void> {
    await this.#measuring.freeArena(this.#buffers);
  }
}
