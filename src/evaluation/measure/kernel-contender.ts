import type { Device } from '../../core/device.ts';
import type { RoughTime } from '../../core/evaluation.ts';
import { type MeasuringDevice, NOTHING_AROUND } from '../../core/measuring-device.ts';
import { type Contender, type ContenderFailure, contenderFailure } from './contender.ts';
import { KernelBlock, type TimedKernel } from './kernel-block.ts';
import { allocateSlots, type Slots } from './slots.ts';
import { LARGE_SLOT_BYTES } from './tiers.ts';
import { timedPlan } from './timed-plan.ts';

/** A verified candidate, ready to be timed on a device. */
export interface KernelContenderOptions extends TimedKernel {
  readonly name: string;
  readonly device: Device;
}

/**
 * Time limit of a replay of many slow sequences, as a multiple of its estimated time, in addition to the limit of one run.
 */
const MOST_SLOWDOWN = 5;

/** A replay of at least this length needs no warm-up, and one would take long. */
const LONG_REPLAY_NS = 100e6;

/** Runs of the estimate; the first is a warm-up. */
const ESTIMATE_RUNS = 6;
/**
 * A single launch of at most this length is estimated from several launches in a row, because much of its time is its
 * start.
 */
const SHORT_SEQUENCE_NS = 50_000;
/** Sequences in a row for such an estimate, limited by the memory of their slots. */
const ESTIMATE_SEQUENCES = 8;
const ESTIMATE_BYTES = 2 ** 28;

/** A kernel among the contenders. The module stays the caller's. */
export function createKernelContender(options: KernelContenderOptions): Contender {
  const measuring = options.device.measuring;
  if (!measuring) throw new Error(`${options.device.identity.id} predicts times; it can't measure them`);
  const timed = { ...options, plan: timedPlan(options.plan) };
  const slotBytes = timed.plan.buffers.reduce((sum, { bytes }) => sum + bytes, 0);
  let sequenceNs = 0;
  return {
    name: options.name,
    kind: 'kernel',
    slotBytes,
    async estimateNs() {
      const estimate = await estimateNs(timed, measuring);
      if (estimate.ok) sequenceNs = estimate.ns;
      return estimate;
    },
    openBlock(ring, seed, comparesSlot, { cuts, sampleCount } = { cuts: [], sampleCount: 1 }) {
      const replayNs = ring.sequencesPerReplay * sequenceNs;
      const timeoutMs = options.timeoutMs + (MOST_SLOWDOWN * replayNs) / 1e6;
      const warmsUp = replayNs < LONG_REPLAY_NS;
      const compares = comparesSlot ? 'whole' : slotBytes > LARGE_SLOT_BYTES ? 'part' : 'nothing';
      return KernelBlock.open({ ...timed, timeoutMs, measuring, ring, seed, compares, cuts, sampleCount, warmsUp });
    },
  };
}

/** What a rough time needs of a candidate, verified or not. */
type Estimated = Omit<KernelContenderOptions, 'name' | 'judge'>;

/** A rough time of a candidate that need not be verified: how its ring would be planned. */
export async function roughTimeOf(options: Estimated): Promise<RoughTime> {
  const estimate = await estimateNs({ ...options, plan: timedPlan(options.plan) }, options.device.measuring!);
  return estimate.ok ? { ok: true, ns: estimate.ns } : estimate;
}

/**
 * Times a few single launches, or two long ones. Returns the quickest minus the time of empty events, and the median. Short
 * launches are then timed in a row.
 */
async function estimateNs(
  options: Estimated,
  measuring: MeasuringDevice,
): Promise<{ ok: true; ns: number; eagerNs: number } | ContenderFailure> {
  const { module, plan, problem, dimensions, timeoutMs } = options;
  const slotBytes = plan.buffers.reduce((sum, { bytes }) => sum + bytes, 0);
  const slotCount = Math.max(1, Math.min(ESTIMATE_SEQUENCES, Math.floor(ESTIMATE_BYTES / Math.max(1, slotBytes))));
  const slots = await allocateSlots(measuring, { plan, problem, dimensions, slotCount, seed: 1 });
  try {
    await slots.drawInputs(1);
    await slots.resetWorkspaces(1);
    const overheadNs = await measuring.replayOverheadNs();
    const limits = { runs: ESTIMATE_RUNS, longNs: LONG_REPLAY_NS, timeoutMs };
    const timed = await measuring.timeEager(module, plan, slots.all[0]!, limits);
    if (!timed.ok) return contenderFailure(timed);
    const times = timed.times.slice(1).sort((a, b) => a - b);
    const alone = { ok: true, ns: Math.max(1, times[0]! - overheadNs), eagerNs: times[times.length >> 1]! } as const;
    if (alone.ns > SHORT_SEQUENCE_NS) return alone;
    const row = await inARowNs(options, measuring, slots);
    return row.ok ? { ...alone, ns: Math.max(1, (row.ns - overheadNs) / slotCount) } : row;
  } finally {
    await slots.free();
  }
}

/** Time of one replay with a sequence for each slot. */
async function inARowNs(
  { module, plan, timeoutMs }: Estimated,
  measuring: MeasuringDevice,
  slots: Slots,
): Promise<{ ok: true; ns: number } | ContenderFailure> {
  const prepared = await measuring.prepareReplay(module, plan, slots.all);
  if (!prepared.ok) return contenderFailure(prepared);
  const round = { ...NOTHING_AROUND, sequenceCount: slots.all.length };
  const timed = await measuring.replayOnce(prepared.replay, round, timeoutMs);
  await measuring.releaseReplay(prepared.replay);
  return timed.ok ? timed : contenderFailure(timed);
}
