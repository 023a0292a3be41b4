import { mulberry32 } from '../../stats/random.ts';

/**
 * Contents of a CTA's shared and local memory at its start. `rubbish`: bytes drawn from a number, or NaN in every float
 * format for 0. `zeros`. `leftovers`: the memory that the last CTA on the same multiprocessor left, in this launch or an
 * earlier one.
 */
export type PrivateContents = { kind: 'rubbish'; seed: number } | { kind: 'zeros' } | { kind: 'leftovers' };

/** Longer than any kernel knows; drawn anew for each order. */
const RUBBISH_BYTES = 1 << 16;

/** A supply of bytes to fill memory with. Each CTA takes another part of it. */
export class Rubbish {
  readonly #bytes = new Uint8Array(RUBBISH_BYTES);

  constructor(seed: number) {
    if (seed === 0) {
      this.#bytes.fill(0xff);
      return;
    }
    const random = mulberry32(seed);
    const words = new Uint32Array(this.#bytes.buffer);
    for (let i = 0; i < words.length; i++) words[i] = random() * 2 ** 32;
  }

  /** Fills part of a memory. */
  fill(memory: Uint8Array, start: number, end: number, turn: number): void {
    let from = (Math.imul(turn + 1, 0x9e3779b1) >>> 0) % RUBBISH_BYTES;
    for (let at = start; at < end; ) {
      const bytes = Math.min(end - at, RUBBISH_BYTES - from);
      memory.set(this.#bytes.subarray(from, from + bytes), at);
      at += bytes;
      from = 0;
    }
  }
}

/** What CTAs left in shared and local memory, by multiprocessor. */
export class Leftovers {
  readonly #shared = new Map<number, Uint8Array>();
  readonly #local = new Map<number, Uint8Array>();

  keep(sm: number, shared: Uint8Array, local: Uint8Array): void {
    this.#shared.set(sm, shared.slice());
    this.#local.set(sm, local.slice());
  }

  /** Puts back what was left, as far as it reaches. */
  restore(sm: number, shared: Uint8Array, local: Uint8Array): void {
    for (const [left, memory] of [
      [this.#shared.get(sm), shared],
      [this.#local.get(sm), local],
    ] as const)
      if (left) memory.set(left.subarray(0, memory.length));
  }

  forget(): void {
    this.#shared.clear();
    this.#local.clear();
  }
}
