import type { SpinLoop } from '../spin-loops.ts';

/** What the warps of a CTA do that can run: poll in loops that change no memory, or in others; `undefined` if one does something else. */
export type Spinning = 'reads' | 'changes' | undefined;

/**
 * Rounds in which all of a CTA's warps polled, before its states are compared; and after which it counts as waiting whatever its state is, if it
 * changes no memory: it may count how often it has looked.
 */
const ROUNDS = { compared: 8, over: 1024 } as const;
/** States that are remembered: a loop may read several places in turn. */
const STATES = 4;

/** Four in a row from each power of two on: ever fewer, since a walk over many places is no wait. */
export const isAfterPowerOfTwo = (round: number): boolean => round - 2 ** (31 - Math.clz32(round)) < STATES;

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
    if (++this.#rounds < ROUNDS.compared) return;
    if (state === undefined) this.waits = true;
    else if (this.#isCompared(spinning)) this.#compare(spinning, state());
  }

  /** Whoever waited and changes no memory does no harm by giving way once more: its state is compared every so often. */
  #isCompared(spinning: 'reads' | 'changes'): boolean {
    return isAfterPowerOfTwo(this.#rounds) || (this.waits && spinning === 'changes');
  }

  #compare(spinning: 'reads' | 'changes', state: string): void {
    const waits = this.#states.includes(state) || (spinning === 'reads' && this.#rounds >= ROUNDS.over);
    if (this.waits && !waits) {
      this.forget();
      return;
    }
    this.waits = waits;
    this.#states.push(state);
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

const PRIME = 0x01000193;

/** 128 bits that differ where the bytes do: four sums of FNV's kind over every fourth word, so that a host need not wait for one after the other. */
export function stateOf(memories: readonly Uint8Array[]): string {
  let [a, b, c, d] = [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35];
  for (const bytes of memories) {
    const words = wordsOf(bytes);
    const whole = words.length - (words.length % 4);
    for (let i = 0; i < whole; i += 4) {
      a = Math.imul(a ^ words[i]!, PRIME);
      b = Math.imul(b ^ words[i + 1]!, PRIME);
      c = Math.imul(c ^ words[i + 2]!, PRIME);
      d = Math.imul(d ^ words[i + 3]!, PRIME);
    }
    for (let i = whole; i < words.length; i++) a = Math.imul(a ^ words[i]!, PRIME);
  }
  return `${a} ${b} ${c} ${d}`;
}

/** Words of four bytes, where memory is made of them. */
function wordsOf(bytes: Uint8Array): Int32Array | Uint8Array {
  const isAligned = ((bytes.byteOffset | bytes.length) & 3) === 0;
  return isAligned ? new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2) : bytes;
}
