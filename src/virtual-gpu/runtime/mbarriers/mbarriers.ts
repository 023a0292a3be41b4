import type { SharedPlace } from '../memories.ts';
import { laterOf, type Moment, START } from '../warp-clocks.ts';

/** Largest count of arrivals, and largest magnitude of a transaction count. Source: PTX ISA, mbarrier. */
const MOST = 2 ** 20 - 1;

/** What an mbarrier object in shared memory holds. */
export interface Mbarrier {
  /** Offset in the shared memory of its CTA. */
  readonly address: number;
  /** Phases that are complete. */
  phase: number;
  /** Arrivals that a phase waits for. */
  expected: number;
  /** Those that the current phase still lacks. */
  pending: number;
  /** Bytes that the current phase still waits for; negative while they came before they were expected. */
  bytes: number;
  /** When the last of what the current phase waits for has come so far, and when the phase before was complete. */
  latest: Moment;
  completedAt: Moment;
  /** Halves of what was last written to shared memory for it. */
  low: number;
  high: number;
}

/** What a mistake is, in words; the caller knows the instruction. */
export class MbarrierMistake extends Error {}

/** The mbarrier objects of one CTA. Their state is kept here; shared memory holds a copy that nobody may write to. */
export class Mbarriers {
  readonly #objects = new Map<number, Mbarrier>();
  readonly #shared: () => SharedPlace;
  readonly #now: () => Moment;
  /** Grows with every change: who polls in vain changes nothing. */
  changes = 0;

  constructor(shared: () => SharedPlace, now: () => Moment) {
    this.#shared = shared;
    this.#now = now;
  }

  forget(): void {
    this.#objects.clear();
  }

  initialise(address: number, count: number): void {
    if (count < 1 || count > MOST) throw new MbarrierMistake(`its count is ${count}, not 1 to ${MOST}`);
    const times = { latest: START, completedAt: START };
    const object = { address, phase: 0, expected: count, pending: count, bytes: 0, ...times, low: 0, high: 0 };
    this.#objects.set(address, object);
    this.#store(object);
  }

  invalidate(address: number): void {
    this.at(address);
    this.#objects.delete(address);
    this.changes++;
  }

  /** @throws MbarrierMistake where there is none, or no longer. */
  at(address: number): Mbarrier {
    const object = this.#objects.get(address);
    if (!object) throw new MbarrierMistake('no mbarrier was initialised there');
    if (!this.#isIntact(object)) throw new MbarrierMistake('another instruction has written to the mbarrier there');
    return object;
  }

  /** As `at`; undefined where that throws. */
  find(address: number): Mbarrier | undefined {
    const object = this.#objects.get(address);
    return object && this.#isIntact(object) ? object : undefined;
  }

  #isIntact({ address, low, high }: Mbarrier): boolean {
    const { view, start } = this.#shared();
    return view.getUint32(start + address, true) === low && view.getUint32(start + address + 4, true) === high;
  }

  arrive(object: Mbarrier, count: number): void {
    if (count < 1 || count > object.pending)
      throw new MbarrierMistake(
        `${count} arrive where phase ${object.phase} waits for ${object.pending} more of ${object.expected}`,
      );
    object.pending -= count;
    this.#complete(object);
  }

  /** As `arrive`, and later phases wait for fewer. */
  drop(object: Mbarrier, count: number): void {
    object.expected -= count;
    this.arrive(object, count);
  }

  /** One more arrival is pending: that of copies whose thread does not count it itself. */
  await(object: Mbarrier, count: number): void {
    object.pending += count;
    if (object.pending > MOST) throw new MbarrierMistake(`its pending count exceeds ${MOST}`);
    this.#store(object);
  }

  expectBytes(object: Mbarrier, bytes: number): void {
    this.#addBytes(object, bytes);
    this.#store(object);
  }

  completeBytes(object: Mbarrier, bytes: number): void {
    this.#addBytes(object, -bytes);
    this.#complete(object);
  }

  #addBytes(object: Mbarrier, bytes: number): void {
    object.bytes += bytes;
    if (Math.abs(object.bytes) > MOST)
      throw new MbarrierMistake(`its transaction count is ${object.bytes}, beyond ±${MOST}`);
  }

  #complete(object: Mbarrier): void {
    object.latest = laterOf(object.latest, this.#now());
    if (object.pending === 0 && object.bytes === 0) {
      object.phase++;
      object.completedAt = object.latest;
      object.latest = START;
      object.pending = object.expected;
    }
    this.#store(object);
  }

  #store(object: Mbarrier): void {
    const { view, start } = this.#shared();
    [object.low, object.high] = halvesOf(object);
    view.setUint32(start + object.address, object.low, true);
    view.setUint32(start + object.address + 4, object.high, true);
    this.changes++;
  }
}

const FIELD = 20n;
const MASK = (1n << FIELD) - 1n;

/** The halves of the opaque state: pending count, phase, the low bits of the bytes, 20 bits each. */
const halvesOf = ({ pending, phase, bytes }: Mbarrier): [low: number, high: number] => [
  ((phase << 20) | pending) >>> 0,
  ((bytes & 0xfffff) << 8) | ((phase >>> 12) & 0xff),
];

/** The opaque state, as `arrive` gives it. */
export function stateOf(object: Mbarrier): bigint {
  const [low, high] = halvesOf(object);
  return (BigInt(high) << 32n) | BigInt(low);
}

export const pendingCountOf = (state: bigint): number => Number(state & MASK);

/** Whether the phase in which `state` was taken is complete. */
export const isAfter = ({ phase }: Mbarrier, state: bigint): boolean =>
  ((BigInt(phase) ^ (state >> FIELD)) & MASK) !== 0n;
