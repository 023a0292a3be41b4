import type { SpinLoop } from '../spin-loops.ts';

/** What the warps of a CTA do that can run: poll in loops that change no memory, or in others; `undefined` if one does something else. */
export type Spinning = 'reads' | 'changes' | undefined;

/** A CTA waits for others once it has polled so often and done nothing else; in a loop that changes memory, once it comes back to a state. */
const WAITS_AFTER = 8;
/** States that are remembered: a loop may read several places in turn. */
const STATES = 4;

/** Tells whether a CTA only waits for what others will write: each of its warps has had a slice in a round. */
export class VainRounds {
  #rounds = 0;
  readonly #states: string[] = [];
  /** Whether nothing happens until others write. */
  waits = false;

  /** Something happened. */
  forget(): void {
    if (this.#rounds === 0) return;
    this.#rounds = 0;
    this.#states.length = 0;
    this.waits = false;
  }

  /** @param state of the CTA, asked for when it matters. Without it, whoever is in a loop that polls counts as waiting. */
  add(spinning: Spinning, state?: () => string): void {
    if (spinning === undefined) {
      this.forget();
      return;
    }
    if (++this.#rounds < WAITS_AFTER) return;
    if (spinning === 'reads' || state === undefined) {
      this.waits = true;
      return;
    }
    const now = state();
    this.waits = this.#states.includes(now);
    this.#states.push(now);
    if (this.#states.length > STATES) this.#states.shift();
  }
}

/** Rounds whose states are compared: two in a row, every so often. Few CTAs have as many. */
const isCompared = (round: number): boolean => round % 256 === 16 || round % 256 === 17;

/** Tells whether a CTA whose reads get older values, round after round, is in the state in which it was: then it does not count them. */
export class OlderRounds {
  #rounds = 0;
  #before = '';

  /** Something else happened. */
  forget(): void {
    this.#rounds = 0;
  }

  /** @param state of the CTA, asked for when it is compared. */
  isSame(state: () => string): boolean {
    if (!isCompared(++this.#rounds)) return false;
    const now = state();
    const isSame = now === this.#before;
    this.#before = now;
    return isSame;
  }
}

/** By block: 1 in a loop that polls and changes no memory, 2 in another that polls, 0 elsewhere. */
export function spinningBlocks(loops: readonly SpinLoop[], blockCount: number): Uint8Array {
  const kinds = new Uint8Array(blockCount);
  for (const { blocks, changesMemory } of loops)
    for (const block of blocks) kinds[block] = Math.max(kinds[block]!, changesMemory ? 2 : 1);
  return kinds;
}

/** 64 bits that differ where the bytes do. */
export function stateOf(memories: readonly Uint8Array[]): string {
  let [a, b] = [0x811c9dc5, 0x9e3779b9];
  for (const bytes of memories) {
    const start = bytes.byteOffset;
    const isAligned = (start & 3) === 0 && (bytes.length & 3) === 0;
    const words = isAligned ? new Int32Array(bytes.buffer, start, bytes.length >> 2) : bytes;
    for (let i = 0; i < words.length; i++) {
      a = Math.imul(a ^ words[i]!, 0x01000193);
      b = Math.imul(b + words[i]!, 0x85ebca6b) ^ (b >>> 15);
    }
  }
  return `${a >>> 0} ${b >>> 0}`;
}
