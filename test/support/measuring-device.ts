import type { Device } from '../../src/core/device.ts';
import type { DeviceBuffer, LoadedModule } from '../../src/core/device-values.ts';
import { sizeOfDType } from '../../src/core/dtype.ts';
import type { LaunchPlan } from '../../src/core/launch-plan.ts';
import type { GpuState } from '../../src/core/measurement.ts';
import {
  type BufferPair,
  type Draw,
  type Fill,
  type MeasuringDevice,
  type Replay,
  type Slot,
  UNSHARED,
} from '../../src/core/measuring-device.ts';
import { decode, encode } from '../../src/core/rounding.ts';
import { createStream, type RandomStream } from '../../src/stats/random.ts';

export interface MeasuringOptions {
  /** Device time of one launch sequence in ns, as a clock would read it. */
  sequenceNs: (plan: LaunchPlan, module: LoadedModule) => number;
  /** Relative noise of one replay, drawn per replay; 0 by default. */
  noise?: () => number;
  state?: () => GpuState;
  /** Energy of one launch sequence; without it the device counts none. */
  joules?: (plan: LaunchPlan, module: LoadedModule) => number;
  /** Module variables outlive launches; `forget` gives them their initial values. */
  moduleState?: { forget: () => void };
  /** What launches leave on the chip; `scrub` overwrites it. */
  chipState?: { scrub: () => void };
  l2Bytes?: number;
}

const OVERHEAD_NS = 1300;
export const IDLE_W = 70;
const L2_BYTES = 64 * 1024;

interface PreparedReplay extends Replay {
  readonly module: LoadedModule;
  readonly plan: LaunchPlan;
  readonly slots: readonly Slot[];
  readonly alone: readonly Slot[];
}

/** Of rules whose values are drawn one by one. */
const VALUES: {
  readonly [K in Exclude<Draw['rule']['kind'], 'normal'>]: (rule: never, stream: RandomStream, i: number) => number;
} = {
  uniform: ({ low, high }: { low: number; high: number }, stream, i) => low + (high - low) * stream.uniform(i),
  integers: ({ low, high }: { low: number; high: number }, stream, i) => low + (stream.bits(i) % (high - low + 1)),
  permutation: (_rule, _stream, i) => i,
  constant: ({ value }: { value: number }) => value,
};

const drawn = ({ buffer, dtype, rule, key }: Draw): Uint8Array => {
  const stream = createStream(...key);
  const values = new Float64Array(buffer.bytes / sizeOfDType(dtype));
  if (rule.kind === 'normal') stream.fillNormal(values, rule.mean, rule.standardDeviation);
  else {
    const valueAt = VALUES[rule.kind] as (rule: Draw['rule'], stream: RandomStream, i: number) => number;
    for (let i = 0; i < values.length; i++) values[i] = valueAt(rule, stream, i);
  }
  return encode(values, dtype);
};

/** Gives a device that executes kernels the seam of one that measures them, with a clock that the test sets. */
export const withMeasuring = <D extends Device>(
  device: D,
  options: MeasuringOptions,
): D & { measuring: MeasuringDevice } => {
  const {
    sequenceNs,
    noise = () => 0,
    state = () => ({}),
    joules,
    moduleState,
    chipState,
    l2Bytes = L2_BYTES,
  } = options;
  const runSequences = async (
    { module, plan, slots }: Omit<PreparedReplay, 'alone' | 'sequenceCount'>,
    timeoutMs: number,
  ) => {
    let ns = OVERHEAD_NS;
    for (const slot of slots) {
      const outcome = await device.run(module, plan, slot, { orderSeed: 0, count: false, timeoutMs });
      if (!outcome.ok) return outcome;
      ns += sequenceNs(plan, module);
    }
    return { ok: true, ns: ns * (1 + noise()) } as const;
  };
  const measuring: MeasuringDevice = {
    l2Bytes,
    use: UNSHARED,
    allocateArena: async (requests) => {
      const buffers: DeviceBuffer[] = [];
      try {
        for (const request of requests) buffers.push(await device.allocate(request));
      } catch (error) {
        // One allocation of a driver: all of it or nothing.
        for (const buffer of buffers) await device.free(buffer);
        throw error;
      }
      return buffers;
    },
    freeArena: async (buffers) => {
      for (const buffer of buffers) await device.free(buffer);
    },
    draw: async (draws) => {
      for (const draw of draws) await device.write(draw.buffer, drawn(draw));
    },
    fillAll: async (fills) => {
      for (const { buffer, pattern } of fills) await device.fill(buffer, pattern);
    },
    writeAll: async (writes) => {
      for (const { buffer, bytes } of writes) await device.write(buffer, bytes);
    },
    readAll: (ranges) =>
      Promise.all(
        ranges.map(async ({ buffer, offsetBytes = 0, bytes = buffer.bytes - offsetBytes }) =>
          (await device.read(buffer)).slice(offsetBytes, offsetBytes + bytes),
        ),
      ),
    hasState: () => moduleState !== undefined,
    prepareReplay: async (module, plan, slots, alone = []) => {
      const replay: PreparedReplay = { module, plan, slots, alone, sequenceCount: slots.length };
      return { ok: true, replay };
    },
    replayOnce: async (replay, round, timeoutMs) => {
      const prepared = replay as PreparedReplay;
      await measuring.draw(round.draws);
      await measuring.fillAll(round.fills);
      moduleState?.forget();
      chipState?.scrub();
      const cut = { ...prepared, slots: prepared.slots.slice(0, round.sequenceCount) };
      const timed = await runSequences(cut, timeoutMs);
      if (!timed.ok) return timed;
      const changedElements = await Promise.all(round.unchanged.map((draw) => changedIn(device, draw)));
      const damagedGuards = await damagedIn(device, round.guarded);
      const heldElements = await Promise.all(round.poisons.map((fill) => holding(device, fill)));
      const equalElements: number[][] = [];
      for (const { sequence, fills, pairs } of round.reruns) {
        moduleState?.forget();
        chipState?.scrub();
        await measuring.fillAll(fills);
        const { module, plan, alone } = prepared;
        const outcome = await device.run(module, plan, alone[sequence]!, { orderSeed: 0, count: false, timeoutMs });
        if (!outcome.ok) return outcome;
        equalElements.push(await Promise.all(pairs.map((pair) => equalIn(device, pair))));
      }
      return { ok: true, ns: timed.ns, changedElements, damagedGuards, heldElements, equalElements };
    },
    releaseReplay: async () => {},
    replayOverheadNs: async () => OVERHEAD_NS,
    timeEager: async (module, plan, slot, { runs, longNs, timeoutMs }) => {
      const times: number[] = [];
      while (times.length < runs && !(times.length > 1 && times.at(-1)! >= longNs)) {
        const timed = await runSequences({ module, plan, slots: [slot] }, timeoutMs);
        if (!timed.ok) return timed;
        times.push(timed.ns);
      }
      return { ok: true, times };
    },
    ...(joules && {
      energyOf: async (replay, { leastMs }) => {
        const seconds = leastMs / 1000;
        if (!replay) return { ok: true, joules: IDLE_W * seconds, seconds, replays: 0 };
        const { plan, module, slots } = replay as PreparedReplay;
        const eachNs = slots.length * sequenceNs(plan, module);
        const replays = Math.ceil((seconds * 1e9) / eachNs);
        const spent = replays * slots.length * joules(plan, module) * (1 + noise());
        return { ok: true, joules: spent, seconds: (replays * eachNs) / 1e9, replays };
      },
    }),
    state: async () => state(),
  };
  return Object.assign(device, { measuring });
};

const changedIn = async (device: Device, draw: Draw): Promise<number> => {
  const [want, got] = [decode(drawn(draw), draw.dtype), decode(await device.read(draw.buffer), draw.dtype)];
  let count = 0;
  for (let i = 0; i < want.length; i++) if (!Object.is(want[i], got[i])) count++;
  return count;
};

const damagedIn = async (device: Device, buffers: readonly DeviceBuffer[]) => {
  const damage = buffers.map(async (buffer) => ({
    buffer: buffer.name,
    bytes: await device.damagedGuardBytes(buffer),
  }));
  return (await Promise.all(damage)).filter(({ bytes }) => bytes > 0);
};

const equalIn = async (device: Device, { left, right, dtype, tolerance }: BufferPair): Promise<number> => {
  const [a, b] = [decode(await device.read(left), dtype), decode(await device.read(right), dtype)];
  const isNear = (x: number, y: number): boolean =>
    Object.is(x, y) || (tolerance > 0 && Math.abs(x - y) <= tolerance * (Math.abs(x) + Math.abs(y)));
  let count = 0;
  for (let i = 0; i < a.length; i++) if (isNear(a[i]!, b[i]!)) count++;
  return count;
};

const holding = async (device: Device, { buffer, pattern }: Fill): Promise<number> => {
  const bytes = await device.read(buffer);
  let count = 0;
  for (let i = 0; i + pattern.length <= bytes.length; i += pattern.length) {
    if (pattern.every((byte, j) => bytes[i + j] === byte)) count++;
  }
  return count;
};
