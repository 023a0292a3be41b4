import { availableParallelism } from 'node:os';
import { WarpsmithError } from '../../core/errors.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Check } from '../oracle/check.ts';
import { isLarge } from '../oracle/reference-runs.ts';
import { levelsOf, secretSetOf } from '../oracle/secret/secret-set.ts';
import type { VerifyRequest } from './verify-request.ts';

/** A reference's process keeps one core busy, and so do compilers. */
const CHECKS_AHEAD = Math.min(8, Math.floor(availableParallelism() / 4));

/** Of all checks whose inputs are being drawn: inputs and results take memory, several times as much in float64. */
const MOST_BYTES_AHEAD = 32 * 1024 ** 2;

type LookAheadRequest = Pick<VerifyRequest, 'device' | 'problem' | 'oracle' | 'seed' | 'checksAhead'>;

/** Draws the inputs of the next checks, and works out what they expect, while another check is judged. */
export class LookAhead {
  readonly #request: LookAheadRequest;
  readonly #begun = new Map<Check, Promise<void>>();
  /** Of checks whose inputs are being drawn. */
  #bytes = 0;

  constructor(request: LookAheadRequest) {
    this.#request = request;
  }

  /** Begins with each of the next checks once. One for which there is no room yet is begun later, or drawn when it is its turn. */
  begin(next: readonly Check[]): void {
    const { device, checksAhead = device.measuring ? CHECKS_AHEAD : 0 } = this.#request;
    for (const check of next.slice(0, checksAhead)) {
      if (this.#begun.has(check) || this.#isTooLarge(check)) continue;
      const bytes = this.#bytesOf(check);
      if (this.#bytes + bytes > MOST_BYTES_AHEAD) return;
      this.#bytes += bytes;
      const drawn = this.#draw(check).finally(() => {
        this.#bytes -= bytes;
      });
      // Whoever waits for it is told.
      drawn.catch(() => {});
      this.#begun.set(check, drawn);
    }
  }

  /** Fulfilled when its inputs are drawn, if that has begun. A mistake of the problem is told when it is the check's turn. */
  async drawn(check: Check): Promise<void> {
    await this.#begun.get(check);
  }

  /** A GPU works out what takes a host long. */
  #isTooLarge(check: Check): boolean {
    return this.#bytesOf(check) > MOST_BYTES_AHEAD || isLarge(this.#request.problem, check.dimensions);
  }

  #bytesOf({ dimensions }: Check): number {
    return expandBuffers(this.#request.problem.file, dimensions).reduce((sum, buffer) => sum + buffer.bytes, 0);
  }

  async #draw({ dimensions, generatorSet, isOnce }: Check): Promise<void> {
    const { oracle, problem, seed } = this.#request;
    const secret = secretSetOf(generatorSet);
    const [first = generatorSet] = secret ? levelsOf(secret) : [];
    const key = { problem, seed, dimensions, generatorSet: first };
    await oracle.ahead(key);
    try {
      const prepared = oracle.check(key);
      const expected: Promise<unknown> = isOnce ? prepared.sample() : prepared.expectations();
      expected.catch(() => {});
    } catch (error) {
      if (!(error instanceof WarpsmithError)) throw error;
    }
  }
}
