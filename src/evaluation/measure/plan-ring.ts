import type { Ring } from './contender.ts';

/** Shortest device time of a sample: 200 µs are some 6,000 ticks of an H200's event clock (32 ns). */
export const LEAST_SAMPLE_NS = 200_000;

/** Size of a cold ring as a multiple of L2, so that a slot has left the cache when its turn comes again. */
const COLD_RING_L2_RATIO = 3;
/** Largest hot ring as a share of L2, so that the rest of the GPU's data also fits. */
const HOT_RING_L2_RATIO = 0.5;
/** Largest ring that must be long but not cold. Reading all of it in {@link LEAST_SAMPLE_NS} would take 10 TB/s. */
const MOST_RING_BYTES = 2 ** 31;
/** Most launches of a graph; building a larger one takes longer than measuring. */
const MOST_SEQUENCES = 16_384;
/** Most slots of a block ÷ fewest. The number in each block is secret, so that no launch knows whether it is the last. */
const MOST_SLOTS_RATIO = 1.25;
/**
 * Slow contenders get as many slots as the fastest, so that gaps between launches weigh the same in all, unless their
 * replay would take longer than this.
 */
const MOST_SHARED_REPLAY_NS = 10e6;

/** A ring whose number of slots varies from block to block between two limits. */
export interface RingPlan extends Ring {
  readonly fewestSlotCount: number;
}

/** What is known of a contender before it is measured. */
export interface RingSubject {
  readonly slotBytes: number;
  /** Rough device time of one launch sequence. */
  readonly sequenceNs: number;
}

/**
 * The number of slots of a sample, sequences of a replay, and replays.
 *
 * Every sequence of a replay has a slot of its own, so that no launch finds its own right outputs. If the slots are too few
 * for {@link LEAST_SAMPLE_NS}, the replay is repeated with everything drawn again. A ring that should be cold but stays
 * below {@link COLD_RING_L2_RATIO} × L2, because its slots are tiny, counts as hot.
 */
export function planRing(request: RingSubject & { l2Bytes: number; cache: 'hot' | 'cold' }): RingPlan {
  const { slotBytes, sequenceNs, l2Bytes, cache } = request;
  const bytes = Math.max(1, slotBytes);
  const wanted = sequencesWanted(sequenceNs);
  const { fewest, most } = cache === 'cold' ? coldSlots(bytes, l2Bytes, wanted) : hotSlots(bytes, l2Bytes, wanted);
  return {
    cache: fewest * bytes >= COLD_RING_L2_RATIO * l2Bytes ? cache : 'hot',
    slotCount: most,
    fewestSlotCount: fewest,
    ringBytes: most * bytes,
    rereadsInputs: cache === 'hot' && most * bytes > HOT_RING_L2_RATIO * l2Bytes,
    sequencesPerReplay: most,
    replaysPerSample: Math.ceil(wanted / fewest),
  };
}

/** Sequences that take {@link LEAST_SAMPLE_NS} together. */
const sequencesWanted = (sequenceNs: number): number =>
  Math.max(1, Math.ceil(LEAST_SAMPLE_NS / Math.max(1, sequenceNs)));

/** The rings of compared contenders. With hot caches, each gets as many slots as time and cache allow. */
export function planRings(
  subjects: readonly RingSubject[],
  { l2Bytes, cache }: { l2Bytes: number; cache: 'hot' | 'cold' },
): RingPlan[] {
  const largest = Math.max(...subjects.map(({ slotBytes }) => slotBytes));
  const quickest = Math.min(...subjects.map(({ sequenceNs }) => sequenceNs));
  const shared = planRing({ slotBytes: largest, sequenceNs: quickest, l2Bytes, cache: 'hot' });
  return subjects.map((subject) => {
    const own = planRing({ ...subject, l2Bytes, cache });
    if (cache === 'cold' || shared.slotCount * subject.sequenceNs > MOST_SHARED_REPLAY_NS) return own;
    const replaysPerSample = Math.ceil(sequencesWanted(subject.sequenceNs) / shared.fewestSlotCount);
    return { ...shared, ringBytes: shared.slotCount * subject.slotBytes, replaysPerSample };
  });
}

/** The ring of one block. `share` places its number of slots between the fewest and the most. */
export function ringOfBlock({ fewestSlotCount, ...plan }: RingPlan, share: number): Ring {
  const slotCount = fewestSlotCount + Math.floor(share * (plan.slotCount - fewestSlotCount + 1));
  const ringBytes = Math.round((plan.ringBytes / plan.slotCount) * slotCount);
  return { ...plan, slotCount, ringBytes, sequencesPerReplay: slotCount };
}

interface SlotRange {
  readonly fewest: number;
  readonly most: number;
}

function coldSlots(slotBytes: number, l2Bytes: number, wanted: number): SlotRange {
  const fitting = Math.floor(MOST_RING_BYTES / slotBytes);
  const cold = Math.max(Math.min(wanted, fitting), Math.ceil((COLD_RING_L2_RATIO * l2Bytes) / slotBytes));
  const fewest = Math.min(Math.floor(MOST_SEQUENCES / MOST_SLOTS_RATIO), cold);
  return { fewest, most: Math.max(fewest, Math.min(withMore(fewest), fitting, MOST_SEQUENCES)) };
}

function hotSlots(slotBytes: number, l2Bytes: number, wanted: number): SlotRange {
  const fitting = Math.max(1, Math.floor((HOT_RING_L2_RATIO * l2Bytes) / slotBytes));
  const most = Math.min(fitting, withMore(wanted));
  return { fewest: Math.min(wanted, Math.ceil(most / MOST_SLOTS_RATIO)), most };
}

/** A single launch in a replay has no other launch to leave work to. */
const withMore = (slots: number): number => (slots === 1 ? 1 : Math.ceil(MOST_SLOTS_RATIO * slots));
