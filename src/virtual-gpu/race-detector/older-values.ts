import type { GridClock } from './clocks.ts';
import { type Accessor, ownerOf } from './global-shadow.ts';

/** A moment in a warp's work. */
export type Moment = Readonly<Pick<Accessor, 'cta' | 'warp' | 'time'>>;

/** Bytes somewhere in memory. */
export interface BytesAt {
  readonly view: DataView;
  readonly offset: number;
  readonly bytes: number;
}

/** What a strong write left at a place. */
interface Version {
  readonly number: number;
  readonly bytes: number;
  /** Words of four bytes; the last may be shorter. No buffer of their own: V8 keeps small arrays in its heap. */
  readonly words: Int32Array;
  /** Absent for what was there before the first write. */
  readonly writer: Moment | undefined;
  /** What a reader of it takes over. */
  clock: GridClock | undefined;
  /** When each warp read it first; and how often it was read. */
  readonly readers: Progress[];
  reads: number;
}

interface Place {
  readonly versions: Version[];
  /** By reader: the version that it got last, and how often. */
  readonly progress: Map<number, Progress>;
  /** Operation whose lanes read the place last, and what they got: all the same. */
  operation: number;
  given: Version | undefined;
}

/** When a reader got a version first, and how often since. */
interface Progress extends Moment {
  readonly number: number;
  reads: number;
}

/** A value that was there, and what a reader of it takes over. */
export type OlderValue = Pick<Version, 'words' | 'bytes' | 'clock'>;

/** Versions of a place that are kept, and reads of each after which it counts as known to all. */
const MOST = { versions: 4, reads: 64 } as const;

/** How often the same warp reads the same older version; one warp of a launch, at one place, as often as a wait that gives up too early polls, and a little more often than its code says. */
const PATIENCE = { usual: 1, once: 4000, beyondLooks: 1.1, onceInTurns: 16 } as const;

/** Reads of a launch that get an older value, beside those of the patient one: walks back over many places would take as long as the square of their number. */
const MOST_FURTHER_READS = 8192;

/**
 * Values that a volatile, relaxed or atomic read may give though a later one has been written: nothing orders the later write before
 * the read, and neither the reader nor what it has synchronised with has seen it. CTAs and warps run one after the other here, so
 * without this every such read would find everything done: a look-back would never meet a neighbour that has published only half, a
 * wait would never wait, and a flag would never come before the data that it announces. A reader gets the oldest possible
 * value first, then the next, so that every wait ends. Fences order no reads among themselves beyond what flags show: stricter
 * orders of `fence.sc` are not modelled, nor needed by any kernel that tells others by a flag or a counter.
 */
export class OlderValues {
  readonly #isBefore: (moment: Moment, by: Accessor) => boolean;
  /** How often one warp of the launch reads the oldest value at one place. */
  #patience: number;
  #ctasTakeTurns: boolean;
  readonly #places = new Map<number, Place>();
  #reads = 0;
  #mostReads: number;
  #patient: { readonly place: Place; readonly reader: number } | undefined;

  /**
   * @param isBefore whether a moment is ordered before the current access of a warp.
   * @param looks a loop of the kernel that waits may give up after so many.
   * @param inTurns each read that waits takes a turn of all CTAs, and other CTAs are as late as on a GPU.
   * @param ctasTakeTurns whether a CTA may go on after another has run; otherwise each runs whole.
   */
  constructor(
    isBefore: (moment: Moment, by: Accessor) => boolean,
    looks: number,
    inTurns: boolean,
    ctasTakeTurns: boolean,
  ) {
    const once = Math.max(PATIENCE.once, Math.ceil(PATIENCE.beyondLooks * looks));
    this.#isBefore = isBefore;
    this.#ctasTakeTurns = ctasTakeTurns;
    this.#patience = inTurns ? PATIENCE.onceInTurns : once;
    this.#mostReads = once + MOST_FURTHER_READS;
  }

  forget(): void {
    if (this.#places.size > 0) this.#places.clear();
  }

  /** From now on a CTA may go on after another has run. */
  takeTurns(): void {
    this.#ctasTakeTurns = true;
    this.#patience = PATIENCE.onceInTurns;
  }

  /** Whoever reads an older value over and over is in the state in which it was: it counts no reads, and more of them show nothing. */
  endPatience(): void {
    this.#patience = PATIENCE.usual;
    this.#mostReads = MOST_FURTHER_READS;
  }

  /** How many reads got an older value. */
  get given(): number {
    return this.#reads;
  }

  /** Remembers what lies at a place before its first strong write. */
  beforeWrite(address: number, latest: BytesAt): void {
    const known = this.#places.get(address);
    if (known && isSame(known.versions.at(-1)!, latest)) return;
    const versions = [version(0, latest, undefined)];
    this.#places.set(address, { versions, progress: new Map(), operation: -1, given: undefined });
  }

  /** Remembers what a strong write has left. */
  wrote(address: number, latest: BytesAt, by: Accessor, clock: GridClock | undefined): void {
    const place = this.#places.get(address);
    const last = place?.versions.at(-1);
    if (!place || !last || last.bytes !== latest.bytes) return;
    if (isSame(last, latest)) {
      last.clock = clock;
      return;
    }
    const { cta, warp, time } = by;
    place.versions.push({ ...version(last.number + 1, latest, { cta, warp, time }), clock });
    if (place.versions.length > MOST.versions) place.versions.shift();
  }

  /**
   * An older value that a strong read may give; undefined if it gets the latest.
   * @param latest what lies there now.
   * @param operation to which the read belongs: lanes that read a place by one operation get the same.
   * @param suits whether a value can be given: not to an atomic that would change it.
   */
  read(
    address: number,
    latest: BytesAt,
    by: Accessor,
    operation: number,
    suits?: (older: OlderValue) => boolean,
  ): OlderValue | undefined {
    const place = this.#places.get(address);
    if (!place) return undefined;
    if (suits === undefined && place.operation === operation) return place.given;
    const last = place.versions.at(-1)!;
    if (!isSame(last, latest)) {
      // A plain write, or one of another size.
      this.#places.delete(address);
      return undefined;
    }
    const chosen = this.#choose(place, by, suits);
    if (chosen !== last) this.#reads++;
    place.operation = operation;
    place.given = chosen === last ? undefined : chosen;
    return place.given;
  }

  /** Who has got the latest gets no older one. Of what was there before the first write nobody needs to know who has read it. */
  #choose(place: Place, by: Accessor, suits: ((older: OlderValue) => boolean) | undefined): Version {
    const { versions, progress } = place;
    const last = versions.at(-1)!;
    if (versions.length === 1) return last;
    const reader = ownerOf(by);
    const before = progress.get(reader);
    const isOver = this.#reads >= this.#mostReads || before?.number === last.number;
    const chosen = isOver ? last : this.#oldest(place, by, before, suits ?? isAnything);
    if (chosen !== last) this.#patient ??= { place, reader };
    chosen.reads++;
    if (before?.number === chosen.number) before.reads++;
    else {
      const { cta, warp, time } = by;
      const first = { cta, warp, time, number: chosen.number, reads: 1 };
      chosen.readers.push(first);
      progress.set(reader, first);
    }
    return chosen;
  }

  /** The oldest version that a reader may get, as far as its patience goes. */
  #oldest(place: Place, by: Accessor, before: Progress | undefined, suits: (older: OlderValue) => boolean): Version {
    const { versions } = place;
    const last = versions.at(-1)!;
    let least = versions.length - 1;
    while (least > 0 && !this.#isKnown(versions[least]!, by)) least--;
    if (before) {
      const isPatient = this.#patient?.place === place && this.#patient.reader === ownerOf(by);
      const patience = isPatient ? this.#patience : PATIENCE.usual;
      const next = before.reads < patience ? before.number : before.number + 1;
      while (versions[least]!.number < next) least++;
    }
    while (versions[least] !== last && !suits(versions[least]!)) least++;
    return versions[least]!;
  }

  /** Whether the current access must get this version or a later one. */
  #isKnown({ writer, readers, reads }: Version, by: Accessor): boolean {
    if (writer === undefined || reads >= MOST.reads || this.#isBefore(writer, by)) return true;
    const knowsOthers = by.clocks.knowsOthers(by.warp);
    for (let i = readers.length - 1; i >= 0; i--) {
      const isOfOther = readers[i]!.cta !== by.cta;
      // Those of a CTA that runs whole come last.
      if (isOfOther && !knowsOthers && !this.#ctasTakeTurns) return false;
      if ((!isOfOther || knowsOthers) && this.#isBefore(readers[i]!, by)) return true;
    }
    return false;
  }
}

const isAnything = (): boolean => true;

function version(number: number, latest: BytesAt, writer: Moment | undefined): Version {
  const { bytes } = latest;
  const words = new Int32Array((bytes + 3) >> 2);
  for (let word = 0; word < words.length; word++) words[word] = wordAt(latest, word);
  return { number, bytes, words, writer, clock: undefined, readers: [], reads: 0 };
}

function isSame({ bytes, words }: Version, latest: BytesAt): boolean {
  if (bytes !== latest.bytes) return false;
  for (let word = 0; word < words.length; word++) if (words[word] !== wordAt(latest, word)) return false;
  return true;
}

function wordAt({ view, offset, bytes }: BytesAt, word: number): number {
  if (bytes >= 4) return view.getInt32(offset + word * 4, true);
  return bytes === 2 ? view.getUint16(offset, true) : view.getUint8(offset);
}
