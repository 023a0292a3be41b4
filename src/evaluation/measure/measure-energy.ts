import type { Energy, EnergyWindow } from '../../core/energy.ts';
import type { MeasuringDevice } from '../../core/measuring-device.ts';
import { assessBlock } from '../../stats/assess-block.ts';
import { compareEnergy, summariseEnergy } from '../../stats/compare-energy.ts';
import { median } from '../../stats/quantile.ts';
import { belowOf, createStream, shuffle } from '../../stats/random.ts';
import { LEAST_BLOCKS_FOR_VERDICT } from '../../stats/verdict.ts';
import { orDeviceTrouble } from '../launches/device-trouble.ts';
import type { Contender } from './contender.ts';
import { planRings, type RingPlan, ringOfBlock } from './plan-ring.ts';

export interface EnergyRequest {
  readonly measuring: MeasuringDevice;
  /** Kernels that were timed just now; the first is the candidate. */
  readonly contenders: readonly Contender[];
  readonly cache: 'hot' | 'cold';
  readonly seed: number;
  readonly secret: number;
  readonly signal?: AbortSignal | undefined;
}

/** Length of a window: some 10 to 50 ticks of the counter. */
const WINDOW_MS = 1000;
const IDLE_MS = 300;
/** Blocks whose GPU state spoils them are repeated, at most so many times as often. */
const MOST_ATTEMPTS = 2 * LEAST_BLOCKS_FOR_VERDICT;

/** The windows of one block, by contender, or why there are none. */
type Block = { readonly windows: ReadonlyMap<string, EnergyWindow>; readonly idleW: number } | { readonly why: string };

/**
 * Measures the energy of launches. In each block every contender, in random order, runs alone for a second over fresh memory
 * and fresh inputs; then nothing runs for a moment. Whatever goes wrong is a reason, not a failure: the times stand.
 */
export async function measureEnergy(request: EnergyRequest): Promise<Energy> {
  const { measuring, contenders, seed, signal } = request;
  if (!measuring.energyOf) return { unavailable: 'this device counts no energy' };
  const rings = await ringsFor(request);
  if (typeof rings === 'string') return { unavailable: rings };
  const blocks: Exclude<Block, { why: string }>[] = [];
  const disturbances = new Set<string>();
  let attempts = 0;
  while (blocks.length < LEAST_BLOCKS_FOR_VERDICT && attempts < MOST_ATTEMPTS) {
    signal?.throwIfAborted();
    const { before, block, after } = await measuring.use.alone(async () => ({
      before: await measuring.state(),
      block: await measureBlock(request, rings, attempts++),
      after: await measuring.state(),
    }));
    if ('why' in block) return { unavailable: block.why };
    const assessed = assessBlock(before, after);
    for (const disturbance of assessed.disturbances) disturbances.add(disturbance);
    if (assessed.discarded === undefined) blocks.push(block);
  }
  if (blocks.length === 0) return { unavailable: `all ${attempts} blocks were discarded: the GPU was throttled` };
  const energies = contenders.map(({ name }) =>
    summariseEnergy(
      name,
      blocks.map(({ windows }) => windows.get(name)!),
      seed,
    ),
  );
  const [candidate, ...baselines] = energies;
  return {
    contenders: energies,
    comparisons: baselines.map((baseline) => compareEnergy(candidate!, baseline, seed)),
    idleW: median(blocks.map(({ idleW }) => idleW)),
    blockCount: blocks.length,
    discardedBlockCount: attempts - blocks.length,
    disturbances: [...disturbances],
  };
}

/** As for times: an energy is that of launches whose inputs lie in the same caches. */
async function ringsFor({ measuring, contenders, cache }: EnergyRequest): Promise<RingPlan[] | string> {
  const subjects: { slotBytes: number; sequenceNs: number }[] = [];
  for (const { name, slotBytes, estimateNs } of contenders) {
    const estimate = await orDeviceTrouble(measuring.use.alone(estimateNs));
    if (!estimate.ok) return `${name}: ${estimate.reason}`;
    subjects.push({ slotBytes, sequenceNs: estimate.ns });
  }
  return planRings(subjects, { l2Bytes: measuring.l2Bytes, cache });
}

async function measureBlock(
  { measuring, contenders, secret }: EnergyRequest,
  rings: readonly RingPlan[],
  number: number,
): Promise<Block> {
  const windows = new Map<string, EnergyWindow>();
  const stream = createStream(secret, 'energy', number);
  for (const index of shuffle([...contenders.keys()], belowOf(stream))) {
    const { name, openBlock } = contenders[index]!;
    const ring = ringOfBlock(rings[index]!, stream.uniform(1000));
    const opened = await orDeviceTrouble(openBlock(ring, createStream(secret, 'energy', number, name).bits(0), false));
    if (!opened.ok) return { why: `${name}: ${opened.reason}` };
    const { block } = opened;
    const measured = await orDeviceTrouble(block.energy!(stream.bits(1001 + index), WINDOW_MS));
    await orDeviceTrouble(block.discard());
    if (!measured.ok) return { why: `${name}: ${measured.reason}` };
    windows.set(name, measured.window);
  }
  const idle = await measuring.energyOf!(undefined, { leastMs: IDLE_MS, timeoutMs: 0 });
  if (!idle.ok || 'why' in idle) return { why: 'why' in idle ? idle.why : idle.message };
  return { windows, idleW: idle.joules / idle.seconds };
}
