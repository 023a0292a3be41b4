import { type AccessSamples, MAXIMUM_ENTRIES } from './access-sampler.ts';
import { sampleLevel } from './line-hash.ts';
import { type LinePlaces, lineOfSector, sectorOfEntry } from './line-places.ts';
import { SpareArray, spareFloat64, spareInt32 } from './spare-array.ts';

/** Sampled accesses of a launch in the assumed order of L2. */
export interface AccessStream {
  /** Sector number × 4 + bits, as in `AccessSamples`. */
  readonly entries: Int32Array;
  /** Hash of each entry's line. */
  readonly hashes: Uint32Array;
  /** Number of each entry's CTA. */
  readonly ctas: Int32Array;
}

/** End times of running CTAs, the earliest first: a binary heap. */
class Running {
  #ends: number[] = [];

  get count(): number {
    return this.#ends.length;
  }

  add(end: number): void {
    const ends = this.#ends;
    let i = ends.push(end) - 1;
    for (let parent = (i - 1) >> 1; i > 0 && ends[parent]! > end; i = parent, parent = (i - 1) >> 1)
      [ends[i], ends[parent]] = [ends[parent]!, ends[i]!];
  }

  takeEarliest(): number {
    const ends = this.#ends;
    const earliest = ends[0]!;
    const last = ends.pop()!;
    if (ends.length === 0) return earliest;
    ends[0] = last;
    for (let i = 0, child = 1; child < ends.length; i = child, child = 2 * i + 1) {
      if (child + 1 < ends.length && ends[child + 1]! < ends[child]!) child++;
      if (ends[child]! >= ends[i]!) break;
      [ends[i], ends[child]] = [ends[child]!, ends[i]!];
    }
    return earliest;
  }
}

/** Start of each CTA, in the order of their numbers: as soon as one of the `resident` places is free. */
export function ctaStarts(lengths: ReadonlyMap<number, number>, resident: number): Map<number, number> {
  const starts = new Map<number, number>();
  const running = new Running();
  for (const cta of [...lengths.keys()].sort((a, b) => a - b)) {
    const start = running.count < resident ? 0 : running.takeEarliest();
    starts.set(cta, start);
    running.add(start + lengths.get(cta)!);
  }
  return starts;
}

const roomOf = (samples: readonly AccessSamples[]): number =>
  samples.reduce((sum, { entries }) => sum + entries.length, 0);

/** The accesses of all workers at one level. */
interface AccessTable {
  readonly count: number;
  readonly entries: Int32Array;
  readonly hashes: Uint32Array;
  readonly ctas: Int32Array;
  readonly times: Float64Array;
}

const TABLE = {
  entries: spareInt32(),
  ctas: spareInt32(),
  hashes: new SpareArray((length) => new Uint32Array(length)),
  times: spareFloat64(),
};

/** Removes entries outside the sample at this level, and immediate repetitions of a sector. The table holds until the next one is made. */
function tableAt(level: number, samples: readonly AccessSamples[], places: LinePlaces): AccessTable {
  const room = roomOf(samples);
  const [entries, ctas] = [TABLE.entries.take(room), TABLE.ctas.take(room)];
  const [hashes, times] = [TABLE.hashes.take(room), TABLE.times.take(room)];
  let count = 0;
  // Neighbours often lie in one line.
  let [line, hash] = [-1, 0];
  for (const sample of samples)
    for (let i = 0; i < sample.entries.length; i++) {
      const entry = sample.entries[i]!;
      const cta = sample.ctas[i]!;
      const own = lineOfSector(sectorOfEntry(entry));
      if (own !== line) hash = places.hashOf(own);
      line = own;
      if (sampleLevel(hash) < level) continue;
      if (count > 0 && ctas[count - 1] === cta && entries[count - 1] === entry) continue;
      entries[count] = entry;
      hashes[count] = hash;
      ctas[count] = cta;
      times[count] = sample.times[i]!;
      count++;
    }
  return { count, entries, hashes, ctas, times };
}

/**
 * The lowest level at which all workers together keep no more entries than one worker would. It does not depend on their
 * number.
 */
export function commonLevel(samples: readonly AccessSamples[], places: LinePlaces): number {
  let level = Math.max(0, ...samples.map((sample) => sample.level));
  if (roomOf(samples) <= MAXIMUM_ENTRIES) return level;
  while (tableAt(level, samples, places).count > MAXIMUM_ENTRIES) level++;
  return level;
}

const [KEYS, ASCENDING] = [spareFloat64(), spareInt32()];
type Room = readonly [SpareArray<Int32Array>, SpareArray<Int32Array>];
const [BY_CTA, BY_TIME]: readonly [Room, Room] = [
  [spareInt32(), spareInt32()],
  [spareInt32(), spareInt32()],
];

/**
 * Sorts the accesses of all workers into the assumed order of L2. CTAs were executed one after the other; on a GPU,
 * resident CTAs run side by side. Assumption: all resident warps execute instructions at the same pace, and a CTA starts
 * when another ends.
 * @param level at least `commonLevel`.
 * @param residentCtas over the whole GPU.
 */
export function interleave(
  samples: readonly AccessSamples[],
  places: LinePlaces,
  level: number,
  residentCtas: number,
): AccessStream {
  const lengths = new Map(
    samples.flatMap(({ ctaNumbers, ctaLengths }) => Array.from(ctaNumbers, (cta, i) => [cta, ctaLengths[i]!] as const)),
  );
  const starts = ctaStarts(lengths, residentCtas);
  const { count, entries, hashes, ctas, times } = tableAt(level, samples, places);
  // Each CTA ran on one worker. Stable sorts: by CTA, then by time.
  const keys = KEYS.take(count);
  const ascending = ASCENDING.take(count);
  for (let row = 0; row < count; row++) {
    keys[row] = ctas[row]!;
    ascending[row] = row;
  }
  const byCta = sortedBy(keys, ascending, BY_CTA);
  let [cta, start] = [-1, 0];
  for (let i = 0; i < count; i++) {
    const row = byCta[i]!;
    if (ctas[row] !== cta) [cta, start] = [ctas[row]!, starts.get(ctas[row]!)!];
    keys[row] = times[row]! + start;
  }
  const order = sortedBy(keys, byCta, BY_TIME);
  const stream = { entries: new Int32Array(count), hashes: new Uint32Array(count), ctas: new Int32Array(count) };
  for (let i = 0; i < count; i++) {
    const row = order[i]!;
    stream.entries[i] = entries[row]!;
    stream.hashes[i] = hashes[row]!;
    stream.ctas[i] = ctas[row]!;
  }
  return stream;
}

/** A power of two. */
const DIGITS = 2048;

/**
 * Rows by their keys, which are whole numbers from 0; those with one key stay in the order in which they are. Digit by digit, the lowest first.
 * @param room which holds the result.
 */
function sortedBy(keys: Float64Array, rows: Int32Array, room: Room): Int32Array {
  let largest = 0;
  for (let row = 0; row < keys.length; row++) largest = Math.max(largest, keys[row]!);
  let [sorted, next] = room.map((spare) => spare.take(rows.length)) as [Int32Array, Int32Array];
  sorted.set(rows);
  const places = new Int32Array(DIGITS);
  for (let unit = 1; unit <= largest; unit *= DIGITS) {
    const perUnit = 1 / unit;
    places.fill(0);
    for (let row = 0; row < keys.length; row++) places[digitOf(keys[row]!, perUnit)]!++;
    for (let digit = 0, end = 0; digit < DIGITS; digit++) {
      const start = end;
      end += places[digit]!;
      places[digit] = start;
    }
    for (let i = 0; i < sorted.length; i++) {
      const row = sorted[i]!;
      next[places[digitOf(keys[row]!, perUnit)]!++] = row;
    }
    [sorted, next] = [next, sorted];
  }
  return sorted;
}

/** Not by a remainder or a quotient, which takes a CPU longer than all else here. The product is exact: units are powers of two. */
const digitOf = (key: number, perUnit: number): number => (key * perUnit) & (DIGITS - 1);
