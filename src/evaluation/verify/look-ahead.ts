import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Check } from '../oracle/check.ts';
import { isLarge } from '../oracle/reference-runs.ts';
import { levelsOf, secretSetOf } from '../oracle/secret/secret-set.ts';
import { bearable, troubleWithDrawn } from './bearable.ts';
import type { VerifyRequest } from './verify-request.ts';

/** One always, because a device computes while its host waits. A reference's process keeps a core busy, and so do compilers and a virtual GPU's threads. */
const CHECKS_AHEAD = Math.min(8, Math.max(1, Math.floor(availableParallelism() / 4)));

/** Of all checks that are being prepared, and of one alone: inputs and results take memory, several times as much in float64. */
const MOST_BYTES_AHEAD = { together: 32 * 1024 ** 2, alone: 128 * 1024 ** 2 };

type LookAheadRequest = Pick<VerifyRequest, 'problem' | 'oracle' | 'seed' | 'checksAhead' | 'signal'>;

/** Draws the inputs of the next checks, makes them bearable and works out what they expect, while another check is judged. */
export class LookAhead {
  readonly #request: LookAheadRequest;
  readonly #begun = new Map<Check, Promise<Check | undefined>>();
  /** Of checks that are being prepared. */
  #bytes = 0;

  constructor(request: LookAheadRequest) {
    this.#request = request;
  }

  /** Begins with each of the next checks once. One for which there is no room yet is begun later, or prepared when it is its turn. */
  begin(next: readonly Check[]): void {
    const { checksAhead = CHECKS_AHEAD } = this.#request;
    for (const check of next.slice(0, checksAhead)) {
      if (this.#begun.has(check) || this.#isTooLarge(check)) continue;
      const bytes = this.#bytesOf(check);
      if (this.#bytes > 0 && this.#bytes + bytes > MOST_BYTES_AHEAD.together) return;
      this.#bytes += bytes;
      const prepared = this.#prepare(check).finally(() => {
        this.#bytes -= bytes;
      });
      // Whoever takes it is told.
      prepared.catch(() => {});
      this.#begun.set(check, prepared);
    }
  }

  /** As {@link bearable}, prepared ahead or now. */
  take(check: Check): Promise<Check | undefined> {
    const begun = this.#begun.get(check);
    this.#begun.delete(check);
    return begun ?? bearable(this.#request, check);
  }

  /** A GPU works out what takes a host long. */
  #isTooLarge(check: Check): boolean {
    return this.#bytesOf(check) > MOST_BYTES_AHEAD.alone || isLarge(this.#request.problem, check.dimensions);
  }

  #bytesOf({ dimensions }: Check): number {
    return expandBuffers(this.#request.problem.file, dimensions).reduce((sum, buffer) => sum + buffer.bytes, 0);
  }

  async #prepare(check: Check): Promise<Check | undefined> {
    const { oracle, problem, seed } = this.#request;
    const { dimensions, generatorSet } = check;
    const secret = secretSetOf(generatorSet);
    const [first = generatorSet] = secret ? levelsOf(secret) : [];
    await oracle.ahead({ problem, seed, dimensions, generatorSet: first });
    // What is drawn by this thread is drawn when the check that is judged has been launched.
    await setImmediate();
    const milder = await bearable(this.#request, check);
    // Trouble is told when the judge of this check asks for the same.
    if (milder) this.#expect(milder).catch(() => {});
    return milder;
  }

  /** Works out what the judge of a check will ask for. */
  async #expect(check: Check): Promise<void> {
    const { dimensions, generatorSet, isOnce, isDrawn } = check;
    const { oracle, problem, seed } = this.#request;
    const prepared = oracle.check({ problem, seed, dimensions, generatorSet });
    await (isOnce ? prepared.sample() : prepared.expectations());
    if (isDrawn && !secretSetOf(generatorSet)) await troubleWithDrawn(this.#request, check);
  }
}
