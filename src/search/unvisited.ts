import type { RandomSource } from '../stats/random.ts';
import { integerBelow } from './draw.ts';

/** The configurations that were neither asked for nor told. */
export interface Unvisited {
  /** How many are left. */
  readonly count: number;
  /** How many were taken. */
  readonly taken: number;
  has(index: number): boolean;
  /** Harmless when it was taken before. */
  take(index: number): void;
  /** One of them, each as likely. */
  draw(random: RandomSource): number | undefined;
  /** Does the work, and gives back what it took: as if nothing had been done. */
  trying<T>(work: () => T): T;
  /** All of them, in an order that follows from which were taken, and when. Shared storage. */
  list(): Readonly<Uint32Array>;
}

/** All configurations of a space of this size. */
export function unvisitedOf(size: number): Unvisited {
  const members = Uint32Array.from({ length: size }, (_, index) => index);
  const placeOf = members.slice();
  let count = size;
  const has = (index: number): boolean => placeOf[index]! < count;
  /** While something is tried: the places of what was taken, in that order. */
  let tried: number[] | undefined;
  const swap = (a: number, b: number): void => {
    const moved = members[a]!;
    members[a] = members[b]!;
    members[b] = moved;
    placeOf[members[a]!] = a;
    placeOf[moved] = b;
  };
  return {
    get count() {
      return count;
    },
    get taken() {
      return size - count;
    },
    has,
    take(index) {
      if (!has(index)) return;
      const place = placeOf[index]!;
      tried?.push(place);
      count -= 1;
      swap(place, count);
    },
    trying(work) {
      tried = [];
      try {
        return work();
      } finally {
        for (const place of tried.reverse()) swap(place, count++);
        tried = undefined;
      }
    },
    draw: (random) => (count === 0 ? undefined : members[integerBelow(random, count)]),
    list: () => members.subarray(0, count),
  };
}

/** What asking so often gives, up to the last configuration. */
export function askedFor(count: number, ask: () => number | undefined): number[] {
  const asked: number[] = [];
  while (asked.length < count) {
    const index = ask();
    if (index === undefined) break;
    asked.push(index);
  }
  return asked;
}
