import type { GridClock } from './clocks.ts';
import type { Accessor } from './global-shadow.ts';

/** A moment in a warp's work. */
interface Moment {
  readonly cta: number;
  readonly warp: number;
  readonly time: number;
}

/** What a strong write left at a place. */
interface Version {
  readonly number: number;
  readonly bytes: Uint8Array;
  /** Absent for what was there before the first write. */
  readonly writer: Moment | undefined;
  /** What a reader of it takes over. */
  clock: GridClock | undefined;
  readonly readers: Moment[];
  /** Too many warps have read it to remember all. */
  isKnownToAll: boolean;
}

interface Place {
  readonly versions: Version[];
  /** By reader: the version that it got last, and how often. */
  readonly progress: Map<string, { number: number; reads: number }>;
}

/** A value that was there, and what a reader of it takes over. */
export type OlderValue = Pick<Version, 'bytes' | 'clock'>;

/** Versions of a place that are kept, and readers of each. */
const MOST = { versions: 4, readers: 64 } as const;

/** How often the same warp reads the same older version; one warp of a launch, at one place, as often as a wait that gives up too early polls. */
const PATIENCE = { usual: 1, once: 4000, onceInTurns: 16 } as const;

/** Reads of a launch that get an older value: walks back over many places would take as long as the square of their number. */
const MOST_READS = PATIENCE.once + 8192;

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
  readonly #patience: number;
  readonly #places = new Map<number, Place>();
  #reads = 0;
  #patient: { readonly place: Place; readonly reader: string } | undefined;

  /**
   * @param isBefore whether a moment is ordered before the current access of a warp.
   * @param inTurns each read that waits takes a turn of all CTAs, and other CTAs are as late as on a GPU.
   */
  constructor(isBefore: (moment: Moment, by: Accessor) => boolean, inTurns: boolean) {
    this.#isBefore = isBefore;
    this.#patience = inTurns ? PATIENCE.onceInTurns : PATIENCE.once;
  }

  forget(): void {
    this.#places.clear();
  }

  /** Remembers what lies at a place before its first strong write. */
  beforeWrite(address: number, contents: Uint8Array): void {
    const known = this.#places.get(address);
    if (known && isSame(known.versions.at(-1)!.bytes, contents)) return;
    this.#places.set(address, { versions: [version(0, contents.slice(), undefined)], progress: new Map() });
  }

  /** Remembers what a strong write has left. */
  wrote(address: number, contents: Uint8Array, by: Accessor, clock: GridClock | undefined): void {
    const place = this.#places.get(address);
    const last = place?.versions.at(-1);
    if (!place || !last || last.bytes.length !== contents.length) return;
    if (isSame(last.bytes, contents)) {
      last.clock = clock;
      return;
    }
    const { cta, warp, time } = by;
    place.versions.push(version(last.number + 1, contents.slice(), { cta, warp, time }));
    place.versions.at(-1)!.clock = clock;
    if (place.versions.length > MOST.versions) place.versions.shift();
  }

  /**
   * An older value that a strong read may give; undefined if it gets the latest.
   * @param latest what lies there now.
   * @param suits whether a value can be given: not to an atomic that would change it.
   */
  read(
    address: number,
    latest: Uint8Array,
    by: Accessor,
    suits: (bytes: Uint8Array) => boolean = () => true,
  ): OlderValue | undefined {
    const place = this.#places.get(address);
    const last = place?.versions.at(-1);
    if (!place || !last) return undefined;
    if (!isSame(last.bytes, latest)) {
      // A plain write, or one of another size.
      this.#places.delete(address);
      return undefined;
    }
    const chosen = this.#choose(place, by, suits);
    if (!chosen.isKnownToAll) {
      chosen.readers.push({ cta: by.cta, warp: by.warp, time: by.time });
      chosen.isKnownToAll = chosen.readers.length >= MOST.readers;
    }
    if (chosen === last) return undefined;
    this.#reads++;
    return chosen;
  }

  #choose(place: Place, by: Accessor, suits: (bytes: Uint8Array) => boolean): Version {
    const { versions, progress } = place;
    const last = versions.at(-1)!;
    if (versions.length === 1 || this.#reads >= MOST_READS) return last;
    const reader = `${by.cta} ${by.warp}`;
    const before = progress.get(reader);
    let least = versions.findLastIndex((one) => this.#isKnown(one, by));
    if (before) {
      const isPatient = this.#patient?.place === place && this.#patient.reader === reader;
      const patience = isPatient ? this.#patience : PATIENCE.usual;
      const next = before.reads < patience ? before.number : before.number + 1;
      least = Math.max(
        least,
        versions.findIndex(({ number }) => number >= next),
      );
    }
    const chosen = versions.slice(Math.max(0, least)).find((one) => one === last || suits(one.bytes)) ?? last;
    if (chosen !== last) this.#patient ??= { place, reader };
    progress.set(reader, {
      number: chosen.number,
      reads: before?.number === chosen.number ? before.reads + 1 : 1,
    });
    return chosen;
  }

  /** Whether the current access must get this version or a later one. */
  #isKnown({ writer, readers, isKnownToAll }: Version, by: Accessor): boolean {
    return (
      writer === undefined ||
      isKnownToAll ||
      this.#isBefore(writer, by) ||
      readers.some((reader) => this.#isBefore(reader, by))
    );
  }
}

const version = (number: number, bytes: Uint8Array, writer: Moment | undefined): Version => ({
  ...{ number, bytes, writer, clock: undefined, readers: [], isKnownToAll: false },
});

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
