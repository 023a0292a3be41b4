import type { EarlierAccess } from './earlier-access.ts';
import { type Accessor, GlobalShadow } from './global-shadow.ts';
import { cellsOf } from './shadow-layout.ts';
import type { SharedShadow } from './shared-shadow.ts';
import type { WatchedAccess } from './watched-access.ts';

/** What is noted of an access: a part of it, or all. */
type NotedAccess = Pick<WatchedAccess, 'bytes' | 'isStrong' | 'isWrite'>;

/**
 * Accesses to one CTA's shared memory by all CTAs of its cluster, in cells that another CTA has accessed. What the CTA itself has done to a
 * cell before is known to its own shadow.
 */
export class ClusterShadow {
  readonly #warps: number;
  readonly #unitBytes: number;
  readonly #own: SharedShadow;
  #shadow: GlobalShadow;
  #cta = 0;
  /** Cells that another CTA has accessed; and whether there is any. */
  readonly #isForeign: Uint8Array;
  hasForeign = false;

  /** @param unitBytes the kernel's smallest access to shared memory. */
  constructor(warps: number, sharedBytes: number, unitBytes: number, own: SharedShadow) {
    this.#warps = warps;
    this.#unitBytes = unitBytes;
    this.#own = own;
    this.#isForeign = new Uint8Array(cellsOf(sharedBytes, unitBytes));
    this.#shadow = this.#newShadow();
  }

  #newShadow(spare?: ReturnType<GlobalShadow['release']>): GlobalShadow {
    return new GlobalShadow(this.#warps, this.#unitBytes, true, true, spare);
  }

  /** @param cta linear index of the CTA. */
  begin(cta: number): void {
    this.#cta = cta;
    if (!this.hasForeign) return;
    this.hasForeign = false;
    this.#isForeign.fill(0);
    this.#shadow = this.#newShadow(this.#shadow.release(this.#unitBytes));
  }

  /**
   * Records a completed access of another CTA. Returns the access that it races with, if there is one.
   * @param memory the CTA's shared memory.
   */
  note(
    address: number,
    where: number,
    access: NotedAccess,
    by: Accessor,
    memory: Uint8Array,
  ): EarlierAccess | undefined {
    this.hasForeign = true;
    const unit = this.#unitBytes;
    for (let cell = Math.floor(address / unit); cell * unit < address + access.bytes; cell++) {
      if (this.#isForeign[cell] === 1) continue;
      this.#isForeign[cell] = 1;
      this.#shadow.adopt(cell, this.#cta, this.#own.look(cell));
    }
    return this.#note(address, access.bytes, where, access, by, memory);
  }

  /** The same of one of the CTA's own accesses, which its shadow has recorded. */
  noteOwn(
    address: number,
    where: number,
    access: NotedAccess,
    by: Accessor,
    memory: Uint8Array,
  ): EarlierAccess | undefined {
    const unit = this.#unitBytes;
    for (let cell = Math.floor(address / unit); cell * unit < address + access.bytes; cell++) {
      if (this.#isForeign[cell] !== 1) continue;
      const racing = this.#note(cell * unit, unit, where, access, by, memory);
      if (racing) return racing;
    }
    return undefined;
  }

  #note(
    address: number,
    bytes: number,
    where: number,
    { isStrong, isWrite }: NotedAccess,
    by: Accessor,
    memory: Uint8Array,
  ): EarlierAccess | undefined {
    return isWrite
      ? this.#shadow.write(address, bytes, where, isStrong, by, memory)
      : this.#shadow.read(address, bytes, where, isStrong, by);
  }

  /** An access by another CTA that may come after this one's end: none of its warps knows of it. */
  openAtEnd(warps: readonly Accessor[]): EarlierAccess | undefined {
    if (!this.hasForeign) return undefined;
    for (const access of this.#shadow.lastAccessesOfOthers(this.#cta))
      if (!warps.some((by) => this.#shadow.isBefore(access, by))) return access;
    return undefined;
  }
}
