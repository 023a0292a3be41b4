import type { Device } from '../../src/core/device.ts';
import type { LoadedModule } from '../../src/core/device-values.ts';
import type { LaunchPlan } from '../../src/core/launch-plan.ts';
import { type MeasuringDevice, NOTHING_AROUND, type Replay, type Slot } from '../../src/core/measuring-device.ts';
import { allocateCheckMemory, type CheckMemory } from '../../src/evaluation/launches/run-once.ts';
import { median } from '../../src/stats/quantile.ts';

/** Sequences in one graph, each in buffers of its own. */
const MOST_SEQUENCES = 16;
const MOST_BYTES = 512 * 1024 ** 2;
const REPLAYS = 7;
const TIMEOUT_MS = 10_000;

/** As many as one graph has, each in buffers of its own. */
export function sequencesInGraph({ buffers }: LaunchPlan): { readonly count: number; readonly bytes: number } {
  const bytes = buffers.reduce((sum, buffer) => sum + buffer.bytes, 1);
  const count = Math.max(1, Math.min(MOST_SEQUENCES, Math.floor(MOST_BYTES / bytes)));
  return { count, bytes: count * bytes };
}

/**
 * Device time of one launch sequence among several in a graph, with what L2 then holds, in ns: the median of some replays.
 * Inputs are written anew before each. Results are not looked at.
 *
 * @throws Error with the device's message.
 */
export async function timeSequence(
  device: Device,
  module: LoadedModule,
  plan: LaunchPlan,
  inputs: ReadonlyMap<string, Uint8Array>,
): Promise<number> {
  const { measuring } = device;
  if (!measuring) throw new Error(`${device.identity.id} predicts times; it can't measure them`);
  const { count } = sequencesInGraph(plan);
  const memories: CheckMemory[] = [];
  try {
    for (let slot = 0; slot < count; slot++) memories.push(await allocateCheckMemory(device, plan, inputs));
    const slots = memories.map(({ buffers }) => buffers as Slot);
    const prepared = await measuring.prepareReplay(module, plan, slots);
    if (!prepared.ok) throw new Error(prepared.message);
    try {
      const overheadNs = await measuring.replayOverheadNs();
      const times = await replayTimes(device, measuring, prepared.replay, memories);
      return Math.max(1, median(times) - overheadNs) / count;
    } finally {
      // Before the buffers that it uses are freed.
      await measuring.releaseReplay(prepared.replay);
    }
  } finally {
    for (const memory of memories) await memory.close();
  }
}

async function replayTimes(
  device: Device,
  measuring: MeasuringDevice,
  replay: Replay,
  memories: readonly CheckMemory[],
): Promise<number[]> {
  const times: number[] = [];
  // The first one warms up.
  for (let round = 0; round <= REPLAYS; round++) {
    for (const memory of memories) await startAnew(device, memory);
    const timed = await measuring.replayOnce(replay, { ...NOTHING_AROUND, sequenceCount: memories.length }, TIMEOUT_MS);
    if (!timed.ok) throw new Error(timed.message);
    if (round > 0) times.push(timed.ns);
  }
  return times;
}

/** What a sequence changes holds again what it held. */
async function startAnew(device: Device, { plan, buffers, contents }: CheckMemory): Promise<void> {
  for (const { name, role, init, contents: pattern } of plan.buffers) {
    const buffer = buffers.get(name)!;
    if (role === 'inout') await device.write(buffer, contents.get(name)!);
    if (role === 'workspace' && init !== 'undefined') await device.fill(buffer, pattern ?? new Uint8Array(1));
  }
}
