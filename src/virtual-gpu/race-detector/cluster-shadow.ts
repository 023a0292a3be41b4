import type { EarlierAccess } from './earlier-access.ts';
import { type Accessor, GlobalShadow } from './global-shadow.ts';
import type { WatchedAccess } from './watched-access.ts';

/** Accesses to one CTA's shared memory by all CTAs of its cluster. */
export class ClusterShadow {
  readonly #warps: number;
  readonly #unitBytes: number;
  #shadow: GlobalShadow;
  /** @param unitBytes the kernel's smallest access to shared memory. */
  constructor(warps: number, unitBytes: number) {
    this.#warps = warps;
    this.#unitBytes = unitBytes;
    this.#shadow = new GlobalShadow(warps, unitBytes, true, true);
  }

  begin(): void {
    this.#shadow = new GlobalShadow(this.#warps, this.#unitBytes, true, true, this.#shadow.release(this.#unitBytes));
  }

  /**
   * Records a completed access. Returns the access that it races with, if there is one.
   * @param memory the CTA's shared memory.
   */
  note(
    address: number,
    where: number,
    { bytes, isStrong, isWrite }: WatchedAccess,
    by: Accessor,
    memory: Uint8Array,
  ): EarlierAccess | undefined {
    return isWrite
      ? this.#shadow.write(address, bytes, where, isStrong, by, memory)
      : this.#shadow.read(address, bytes, where, isStrong, by);
  }

  /** An access by another CTA that may come after this one's end: none of its warps knows of it. */
  openAtEnd(warps: readonly Accessor[]): EarlierAccess | undefined {
    for (const access of this.#shadow.lastAccessesOfOthers(warps[0]!.cta))
      if (!warps.some((by) => this.#shadow.isBefore(access, by))) return access;
    return undefined;
  }
}
