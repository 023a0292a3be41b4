import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { MeasuringDevice, Slot } from '../../core/measuring-device.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { createStream } from '../../stats/random.ts';
import { DECLARED } from '../oracle/check.ts';
import { drawInputs } from '../oracle/draw-inputs.ts';

/** Inputs that only the host can draw: index structures, files, strided layouts. */
export interface HostInputs {
  readonly isEmpty: boolean;
  /** @param twins buffers in which the slots' sequences run again; their `inout` buffers get the same values. */
  write(measuring: MeasuringDevice, slots: readonly Slot[], twins: readonly Slot[], seed: number): Promise<void>;
  changed(measuring: MeasuringDevice, slots: readonly Slot[]): Promise<string | undefined>;
}

/**
 * Number of different sets of values that a replay's slots share at random. Drawing one set per slot would take longer than
 * the measurement.
 */
const SET_COUNT = 4;

/** Prepares to draw these buffers on the host; does nothing if there are none. */
export function prepareHostInputs(request: {
  problem: Problem;
  dimensions: Dimensions;
  buffers: readonly PlannedBuffer[];
}): HostInputs {
  const { problem, dimensions, buffers } = request;
  if (buffers.length === 0) return { isEmpty: true, write: async () => {}, changed: async () => undefined };
  let written: ReadonlyMap<string, Uint8Array>[] = [];
  return {
    isEmpty: false,
    async write(measuring, slots, twins, seed) {
      const sets = Array.from({ length: Math.min(SET_COUNT, slots.length) }, (_, set) => {
        const drawSeed = createStream(seed, 'host inputs', set).bits(0);
        return drawInputs({ problem, buffers, dimensions, seed: drawSeed, generatorSet: DECLARED }).bytes;
      });
      const stream = createStream(seed, 'host input sets');
      written = slots.map((_, slot) => sets[stream.bits(slot) % sets.length]!);
      await measuring.writeAll(
        slots.flatMap((slot, i) =>
          buffers.flatMap(({ name, role }) => {
            const places = role === 'inout' ? [slot, twins[i]!] : [slot];
            return places.map((place) => ({ buffer: place.get(name)!, bytes: written[i]!.get(name)! }));
          }),
        ),
      );
    },
    async changed(measuring, slots) {
      const constant = buffers.filter(({ role }) => role === 'in');
      for (const [slot, memory] of slots.entries()) {
        const contents = await measuring.readAll(constant.map(({ name }) => ({ buffer: memory.get(name)! })));
        const found = constant.findIndex(
          ({ name }, i) => Buffer.compare(contents[i]!, written[slot]!.get(name)!) !== 0,
        );
        if (found >= 0) return `modified input '${constant[found]!.name}' of slot ${slot}`;
      }
      return undefined;
    },
  };
}
