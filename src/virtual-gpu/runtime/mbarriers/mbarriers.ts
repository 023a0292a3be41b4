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
}

/** What a mistake is, in words; the caller knows the instruction. */
export class MbarrierMistake extends Error {}

/** The mbarrier objects of one CTA. Their state is kept here; shared memory holds a copy that nobody may write to. */
export class Mbarriers {
  readonly #objects = new Map<number, Mbarrier>();
  readonly #contents = new Map<number, bigint>();
  readonly #read: (address: number) => bigint;
  readonly #write: (address: number, bits: bigint) => void;
  /** Grows with every change: who polls in vain changes nothing. */
  changes = 0;

  constructor(read: (address: number) => bigint, write: (address: number, bits: bigint) => void) {
    this.#read = read;
    this.#write = write;
  }

  forget(): void {
    this.#objects.clear();
    this.#contents.clear();
  }

  initialise(address: number, count: number): void {
    if (count < 1 || count > MOST) throw new MbarrierMistake(`its count is ${count}, not 1 to ${MOST}`);
    const object = { address, phase: 0, expected: count, pending: count, bytes: 0 };
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
    if (this.#read(address) !== this.#contents.get(address))
      throw new MbarrierMistake('another instruction has written to the mbarrier there');
    return object;
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
    if (object.pending === 0 && object.bytes === 0) {
      object.phase++;
      object.pending = object.expected;
    }
    this.#store(object);
  }

  #store(object: Mbarrier): void {
    const bits = stateOf(object);
    this.#contents.set(object.address, bits);
    this.#write(object.address, bits);
    this.changes++;
  }
}

const FIELD = 20n;
const MASK = (1n << FIELD) - 1n;

/** The opaque state, as memory and `arrive` give it: pending count, phase, the low bits of the bytes. */
export const stateOf = ({ pending, phase, bytes }: Mbarrier): bigint =>
  (BigInt(bytes & 0xfffff) << (2n * FIELD)) | ((BigInt(phase) & MASK) << FIELD) | BigInt(pending);

export const pendingCountOf = (state: bigint): number => Number(state & MASK);

/** Whether the phase in which `state` was taken is complete. */
export const isAfter = ({ phase }: Mbarrier, state: bigint): boolean =>
  ((BigInt(phase) ^ (state >> FIELD)) & MASK) !== 0n;
