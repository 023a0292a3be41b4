import type { TracedRequest } from '../../core/warp-trace.ts';
import type { PtxInstruction } from '../../ptx/ast.ts';
import type { RunnableImage } from '../kernel-image.ts';
import { ALL_LANES, LANES, PATTERN, PC, WARP, WARPS } from '../layout.ts';
import { countSectors, sharedCost } from '../runtime/access-costs.ts';
import type { PrivateMemory } from '../runtime/memories.ts';
import type { MemoryRequest } from '../runtime/site-requests.ts';
import { QuietWatcher } from './quiet-watcher.ts';
import { watchedAccess } from './watched-access.ts';

/** More than a reader looks at: a warp is followed no further. */
const MOST_TURNS = 4000;
/** Of one instruction, which a loop executes again and again; and of all. */
const MOST_REQUESTS = { each: 32, all: 6000 };

/** The warp to follow. */
export interface FollowedWarp {
  readonly cta: number;
  readonly warp: number;
}

/** What one warp did: blocks with a bit per lane, and requests whose addresses have no window. */
export interface TracedWarp {
  readonly turns: readonly { readonly block: number; readonly lanes: number }[];
  readonly requests: readonly TracedRequest[];
  readonly isWhole: boolean;
}

/** Follows one warp: which lanes run which block, and the address of every lane of its requests. Looks for nothing else. */
export class WarpTracer extends QuietWatcher {
  readonly #image: RunnableImage;
  readonly #memory: PrivateMemory;
  readonly #followed: FollowedWarp;
  readonly #turns: { block: number; lanes: number }[] = [];
  readonly #requests: TracedRequest[] = [];
  readonly #seen = new Map<PtxInstruction, number>();
  #isWhole = true;

  constructor(image: RunnableImage, memory: PrivateMemory, followed: FollowedWarp) {
    super();
    this.#image = image;
    this.#memory = memory;
    this.#followed = followed;
  }

  get trace(): TracedWarp {
    return { turns: this.#turns, requests: this.#requests, isWhole: this.#isWhole };
  }

  /** Whether a warp of the CTA that runs is to be run block by block, since each of them is told. */
  follows(warp: number): boolean {
    if (this.cta !== this.#followed.cta || warp !== this.#followed.warp) return false;
    if (this.#turns.length < MOST_TURNS) return true;
    this.#isWhole = false;
    return false;
  }

  /** The warp is about to run its next block. As compiled code chooses it: the lanes with the lowest program counter. */
  beginTurn(warpAddress: number): void {
    const { i32 } = this.#memory;
    if (i32[(warpAddress + WARP.converged) >> 2] !== 0) {
      this.#turns.push({ block: i32[(warpAddress + WARP.nextBlock) >> 2]!, lanes: ALL });
      return;
    }
    const counters = i32.subarray((warpAddress + WARP.programCounters) >> 2).subarray(0, LANES);
    const lowest = Math.min(...counters);
    if (lowest >= PC.waiting) return;
    const lanes = counters.reduce((bits, counter, lane) => (counter === lowest ? bits | (1 << lane) : bits), 0);
    this.#turns.push({ block: lowest & PC.blockMask, lanes: lanes >>> 0 });
  }

  group(groupIndex: number, warpAddress: number, masked: boolean): void {
    if (!this.#isFollowed(warpAddress)) return;
    const { pattern, guarded, space } = this.#image.groups[groupIndex]!;
    const { i32 } = this.#memory;
    const recorded = (pattern + PATTERN.addresses) >> 2;
    const ownMask = (pattern + PATTERN.mask) >> 2;
    const lanes = this.#activeLanes(warpAddress, masked).filter((lane) => !guarded || i32[ownMask + lane] !== 0);
    this.#noteGroup(groupIndex, space, lanes, (lane) => i32[recorded + lane]!);
  }

  uniformGroup(groupIndex: number, address: number, warpAddress: number, masked: boolean): void {
    if (!this.#isFollowed(warpAddress)) return;
    this.#noteGroup(
      groupIndex,
      this.#image.groups[groupIndex]!.space,
      this.#activeLanes(warpAddress, masked),
      () => address,
    );
  }

  request(site: number, warpAddress: number, request: MemoryRequest): void {
    if (this.#isFollowed(warpAddress)) this.#note(this.#image.warpSites[site]!.instruction, request);
  }

  #isFollowed(warpAddress: number): boolean {
    const warp = (warpAddress - WARPS) / this.#image.warpBytes;
    return this.cta === this.#followed.cta && warp === this.#followed.warp && this.#turns.length > 0;
  }

  #activeLanes(warpAddress: number, masked: boolean): number[] {
    const mask = (warpAddress + WARP.mask) >> 2;
    return ALL_LANES.filter((lane) => !masked || this.#memory.i32[mask + lane] !== 0);
  }

  #noteGroup(
    groupIndex: number,
    space: string,
    lanes: readonly number[],
    checkedAddressOf: (lane: number) => number,
  ): void {
    if (space !== 'global' && space !== 'shared' && space !== 'local') return;
    const { accesses, minimum } = this.#image.groups[groupIndex]!;
    for (const { instruction, offset, bytes, isStore, quarter } of accesses) {
      const own = quarter === undefined ? lanes : lanes.filter((lane) => lane >> 3 === quarter);
      const addresses = own.map((lane) => (checkedAddressOf(lane) + offset - minimum) >>> 0);
      this.#note(instruction, { space, kind: isStore ? 'store' : 'load', addresses, lanes: own, bytes });
    }
  }

  #note(instruction: PtxInstruction, { space, kind, addresses, lanes, bytes }: MemoryRequest): void {
    const before = this.#seen.get(instruction) ?? 0;
    if (lanes.length === 0 || watchedAccess(instruction) === undefined) return;
    if (before >= MOST_REQUESTS.each || this.#requests.length >= MOST_REQUESTS.all) return;
    this.#seen.set(instruction, before + 1);
    const shared = space === 'shared' ? sharedCost(addresses, lanes, bytes, kind === 'store') : undefined;
    this.#requests.push({
      turn: this.#turns.length - 1,
      instruction: instruction.text,
      ptxLine: instruction.ptxLine,
      source: instruction.source,
      space,
      kind,
      bytes,
      lanes: [...lanes],
      addresses: [...addresses],
      units: shared?.wavefronts ?? (space === 'global' ? countSectors(addresses, bytes) : 0),
      conflicts: shared?.conflicts ?? 0,
    });
  }
}

const ALL = 0xffff_ffff;
