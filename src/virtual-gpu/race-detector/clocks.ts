import { numbersBelow } from '../../core/values.ts';
/**
 * A vector clock over warps of several CTAs: for each CTA, by its linear index, a time per warp. Everything that the warp
 * did up to that time happened before. Immutable, so it can be shared.
 */
export type GridClock = ReadonlyMap<number, Int32Array>;

export const NOTHING_BEFORE: GridClock = new Map();

/** The later of two times for every warp. Returns one of the arguments if it is nowhere earlier. */
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

/** Vector clocks of one CTA's warps, over its own warps and those of other CTAs. */
export class WarpClocks {
  readonly #warps: number;
  /** Row w: for each warp, the time up to which its work happened before the current access of warp w. */
  readonly rows: Int32Array;
  readonly #others: GridClock[];
  /** Whether any of these may say something. */
  #mayKnowOthers = false;
  /** What {@link snapshot} gave last, until the clock changes: null for nothing; and the warp's own time then. */
  readonly #snapshots: (GridClock | null | undefined)[];
  readonly #snapshotTimes: Int32Array;
  /** Of the warps that meet. */
  readonly #latest: Int32Array;
  /** Nothing has happened before anything yet. */
  #isEmpty = true;

  /** @param rows where warps' own times may change, too. */
  constructor(warps: number, rows = new Int32Array(warps * warps)) {
    this.#warps = warps;
    this.rows = rows;
    this.#snapshotTimes = new Int32Array(warps);
    this.#latest = new Int32Array(warps);
    this.#others = new Array<GridClock>(warps).fill(NOTHING_BEFORE);
    this.#snapshots = new Array<GridClock | null | undefined>(warps).fill(undefined);
  }

  reset(): void {
    this.#isEmpty = true;
    this.rows.fill(0);
    this.#mayKnowOthers = false;
    this.#others.fill(NOTHING_BEFORE);
    this.#snapshots.fill(undefined);
  }

  /** For a warp of another CTA: whether `time` happened before the current access of `warp`. */
  isAfterOther(warp: number, cta: number, otherWarp: number, time: number): boolean {
    const times = this.#others[warp]!.get(cta);
    return times !== undefined && times[otherWarp]! >= time;
  }

  /** Whether `warp` knows of warps of other CTAs at all. */
  knowsOthers(warp: number): boolean {
    return this.#others[warp]!.size > 0;
  }

  /** The clock of `warp`, for others to merge; undefined if it is empty. */
  snapshot(warp: number, cta: number): GridClock | undefined {
    const time = this.rows[warp * (this.#warps + 1)]!;
    if (this.#snapshots[warp] === undefined || this.#snapshotTimes[warp] !== time)
      this.#snapshots[warp] = this.#takeSnapshot(warp, cta) ?? null;
    this.#snapshotTimes[warp] = time;
    return this.#snapshots[warp] ?? undefined;
  }

  #takeSnapshot(warp: number, cta: number): GridClock | undefined {
    const row = this.#row(warp);
    const others = this.#others[warp]!;
    if (row.every((time) => time === 0)) return others.size === 0 ? undefined : others;
    return new Map(others).set(cta, row.slice());
  }

  /** Merges `clock` into that of `warp`: everything in it happened before its next accesses. */
  acquire(warp: number, cta: number, clock: GridClock): void {
    this.#isEmpty = false;
    this.#snapshots[warp] = undefined;
    const own = clock.get(cta);
    if (own) this.#raise(this.#row(warp), own);
    if (own && clock.size === 1) return;
    this.#mayKnowOthers = true;
    const others = later(this.#others[warp]!, clock);
    // The own CTA is in the rows.
    if (!others.has(cta)) this.#others[warp] = others;
    else {
      const without = new Map(others);
      without.delete(cta);
      this.#others[warp] = without;
    }
  }

  /** Sets the time of a warp's own. */
  tick(warp: number, time: number): void {
    this.#isEmpty = false;
    this.rows[warp * (this.#warps + 1)] = time;
  }

  copyRow(warp: number, from: WarpClocks): void {
    this.#isEmpty = false;
    this.#snapshots[warp] = undefined;
    this.#row(warp).set(from.#row(warp));
    this.#others[warp] = from.#others[warp]!;
    this.#mayKnowOthers ||= from.#mayKnowOthers;
  }

  /** Merges the clocks of all these warps, and `arrived`, into each of them. */
  join(warps: readonly number[], cta: number, arrived: GridClock | undefined): void {
    if (arrived) for (const warp of warps) this.acquire(warp, cta, arrived);
    if (this.#isEmpty) return;
    const latest = this.#latestOf(warps);
    const { rows } = this;
    const count = this.#warps;
    for (let i = 0; i < warps.length; i++)
      for (let other = 0, at = warps[i]! * count; other < count; other++, at++) rows[at] = latest[other]!;
    for (const warp of warps) this.#snapshots[warp] = undefined;
    if (this.#mayKnowOthers) this.#joinOthers(warps);
  }

  #joinOthers(warps: readonly number[]): void {
    let others = NOTHING_BEFORE;
    for (const warp of warps) others = later(others, this.#others[warp]!);
    for (const warp of warps) this.#others[warp] = others;
  }

  /**
   * The same for all warps of the CTA, each of which then gets a new time of its own: `now` + 1 and so on. Nobody knows more of a warp than
   * itself, so all learn its own time.
   */
  joinAll(now: number): void {
    const { rows } = this;
    const count = this.#warps;
    for (let warp = 0, own = 0; warp < count; warp++, own += count + 1) this.#latest[warp] = rows[own]!;
    this.#isEmpty = false;
    for (let warp = 0, at = 0; warp < count; warp++) {
      for (let other = 0; other < count; other++, at++) rows[at] = this.#latest[other]!;
      rows[warp * (count + 1)] = now + 1 + warp;
    }
    if (!this.#mayKnowOthers) return;
    this.#snapshots.fill(undefined);
    this.#joinOthers(numbersBelow(count));
  }

  /** For each warp, the latest time of these warps' rows. */
  #latestOf(warps: readonly number[]): Int32Array {
    const { rows } = this;
    const latest = this.#latest;
    const count = this.#warps;
    latest.fill(0);
    for (let i = 0; i < warps.length; i++)
      for (let other = 0, at = warps[i]! * count; other < count; other++, at++)
        if (rows[at]! > latest[other]!) latest[other] = rows[at]!;
    return latest;
  }

  #row(warp: number): Int32Array {
    return this.rows.subarray(warp * this.#warps, (warp + 1) * this.#warps);
  }

  #raise(row: Int32Array, times: Int32Array): void {
    for (let i = 0; i < row.length; i++) if (times[i]! > row[i]!) row[i] = times[i]!;
  }
}
