/**
 * What has happened before some point, as far as warps of several CTAs go: for each CTA, by its linear index, a time per
 * warp. Everything that warp did up to that time has happened before. Never changed once made, so it can be shared.
 */
export type GridClock = ReadonlyMap<number, Int32Array>;

export const NOTHING_BEFORE: GridClock = new Map();

/** The later of two times for every warp; one of the arguments where it is no earlier than the other. */
export function later(a: GridClock, b: GridClock): GridClock {
  if (a === b || b.size === 0) return a;
  if (a.size === 0) return b;
  let merged: Map<number, Int32Array> | undefined;
  for (const [cta, times] of b) {
    const known = a.get(cta);
    const joined = known === undefined ? times : laterTimes(known, times);
    if (joined === known) continue;
    merged ??= new Map(a);
    merged.set(cta, joined);
  }
  return merged ?? a;
}

function laterTimes(a: Int32Array, b: Int32Array): Int32Array {
  if (a === b || b.every((time, warp) => time <= a[warp]!)) return a;
  return a.map((time, warp) => Math.max(time, b[warp]!));
}

/** Times of one CTA's warps as each of its warps knows them, and of other CTAs' warps. */
export class WarpClocks {
  readonly #warps: number;
  /** Row w: the time of each warp up to which everything has happened before what warp w does now. */
  readonly rows: Int32Array;
  readonly #others: GridClock[];

  constructor(warps: number) {
    this.#warps = warps;
    this.rows = new Int32Array(warps * warps);
    this.#others = new Array<GridClock>(warps).fill(NOTHING_BEFORE);
  }

  reset(): void {
    this.rows.fill(0);
    this.#others.fill(NOTHING_BEFORE);
  }

  /** Of another CTA's warp: whether `time` has happened before what `warp` does now. */
  isAfterOther(warp: number, cta: number, otherWarp: number, time: number): boolean {
    const times = this.#others[warp]!.get(cta);
    return times !== undefined && times[otherWarp]! >= time;
  }

  /** Everything known to `warp`, for others to take over; undefined when that is nothing. */
  snapshot(warp: number, cta: number): GridClock | undefined {
    const row = this.#row(warp);
    const others = this.#others[warp]!;
    if (row.every((time) => time === 0)) return others.size === 0 ? undefined : others;
    return new Map(others).set(cta, row.slice());
  }

  /** From now on, everything in `clock` has happened before what `warp` does. */
  acquire(warp: number, cta: number, clock: GridClock): void {
    const own = clock.get(cta);
    if (own) this.#raise(this.#row(warp), own);
    if (own && clock.size === 1) return;
    const others = later(this.#others[warp]!, clock);
    // The own CTA is in the rows.
    if (!others.has(cta)) this.#others[warp] = others;
    else {
      const without = new Map(others);
      without.delete(cta);
      this.#others[warp] = without;
    }
  }

  copyRow(warp: number, from: WarpClocks): void {
    this.#row(warp).set(from.#row(warp));
    this.#others[warp] = from.#others[warp]!;
  }

  /** All of these warps know what any of them knows, and what `arrived` holds. */
  join(warps: readonly number[], cta: number, arrived: GridClock | undefined): void {
    if (arrived) for (const warp of warps) this.acquire(warp, cta, arrived);
    const joined = new Int32Array(this.#warps);
    let others = NOTHING_BEFORE;
    for (const warp of warps) {
      this.#raise(joined, this.#row(warp));
      others = later(others, this.#others[warp]!);
    }
    for (const warp of warps) {
      this.#row(warp).set(joined);
      this.#others[warp] = others;
    }
  }

  #row(warp: number): Int32Array {
    return this.rows.subarray(warp * this.#warps, (warp + 1) * this.#warps);
  }

  #raise(row: Int32Array, times: Int32Array): void {
    for (let i = 0; i < row.length; i++) if (times[i]! > row[i]!) row[i] = times[i]!;
  }
}
