import type { Ring } from './contender.ts';

/** Shortest device time of a sample: 200 µs are some 6,000 ticks of an H200's event clock (32 ns). */
export const LEAST_SAMPLE_NS = 200_000;

/** A cold ring is this many times as large as L2, so that a slot has left the cache when its turn comes again. */
const COLD_RING_L2_RATIO = 3;
/** A hot ring and what else runs on the GPU fit into L2 together. */
const HOT_RING_L2_RATIO = 0.5;
/**
 * A ring that must only be long, not cold, takes no more than this: whoever reads all of it in {@link LEAST_SAMPLE_NS}
 * reads 10 TB/s.
 */
const MOST_RING_BYTES = 2 ** 31;
/** Graphs of more launches than this take longer to build than to measure. */
const MOST_SEQUENCES = 16_384;

/**
 * How many slots a sample takes, how many sequences a replay, and how many replays.
 *
 * Every sequence of a replay has a slot of its own, so that no launch ever finds its own right outputs; a replay whose
 * slots are too few for {@link LEAST_SAMPLE_NS} is repeated with everything drawn anew. A ring asked to be cold that stays
 * below {@link COLD_RING_L2_RATIO} × L2, because its slots are tiny, is called hot.
 *
 * @param sequenceNs rough device time of one launch sequence.
 */
export const planRing = (request: {
  slotBytes: number;
  sequenceNs: number;
  l2Bytes: number;
  cache: 'hot' | 'cold';
}): Ring => {
  const { slotBytes, sequenceNs, l2Bytes, cache } = request;
  const bytes = Math.max(1, slotBytes);
  const wanted = Math.max(1, Math.ceil(LEAST_SAMPLE_NS / Math.max(1, sequenceNs)));
  const slotCount = cache === 'cold' ? coldSlots(bytes, l2Bytes, wanted) : hotSlots(bytes, l2Bytes, wanted);
  const ringBytes = slotCount * bytes;
  return {
    cache: ringBytes >= COLD_RING_L2_RATIO * l2Bytes ? cache : 'hot',
    slotCount,
    ringBytes,
    sequencesPerReplay: slotCount,
    replaysPerSample: Math.ceil(wanted / slotCount),
  };
};

const coldSlots = (slotBytes: number, l2Bytes: number, wanted: number): number => {
  const fitting = Math.min(wanted, Math.floor(MOST_RING_BYTES / slotBytes));
  return Math.min(MOST_SEQUENCES, Math.max(fitting, Math.ceil((COLD_RING_L2_RATIO * l2Bytes) / slotBytes)));
};

const hotSlots = (slotBytes: number, l2Bytes: number, wanted: number): number =>
  Math.max(1, Math.min(wanted, Math.floor((HOT_RING_L2_RATIO * l2Bytes) / slotBytes)));
