import type { ResidentCta } from './clusters/resident-cta.ts';
import { isAfterPowerOfTwo } from './vain-rounds.ts';

/** A CTA that has ended, or waits for others. */
export const hasStopped = ({ hasEnded, vain }: Pick<ResidentCta, 'hasEnded' | 'vain'>): boolean =>
  hasEnded || vain.waits;

/** Rounds in which all CTAs waited, before their states are compared. */
const FIRST_COMPARED = 3;
/** States that are remembered. */
const STATES = 16;

/**
 * Tells when all CTAs wait for ever. They run in one fixed order and depend on nothing but their state and device memory, so what comes
 * back comes back for ever.
 */
export class Standstill {
  #rounds = 0;
  /** By state of the CTAs: what device memory held, once the state has come back. */
  readonly #states = new Map<string, string | undefined>();

  /** A CTA did something else than to wait. */
  forget(): void {
    this.#rounds = 0;
    this.#states.clear();
  }

  /**
   * @param ofCtas state of all CTAs that run, asked for when it is compared.
   * @param ofMemory what device memory holds: asked for when the CTAs are as they were.
   */
  isCertain(ofCtas: () => string, ofMemory: () => string): boolean {
    if (++this.#rounds < FIRST_COMPARED || !isAfterPowerOfTwo(this.#rounds)) return false;
    const state = ofCtas();
    if (!this.#states.has(state)) {
      if (this.#states.size === STATES) this.#states.clear();
      this.#states.set(state, undefined);
      return false;
    }
    const memory = ofMemory();
    if (this.#states.get(state) === memory) return true;
    this.#states.set(state, memory);
    return false;
  }
}
