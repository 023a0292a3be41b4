import { availableParallelism } from 'node:os';
import { WarpsmithError } from '../../core/errors.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import { usableMemoryBytes } from '../../process/usable-memory.ts';
import type { Check } from '../oracle/check.ts';
import type { CheckKey } from '../oracle/draw-inputs.ts';
import { isLarge } from '../oracle/reference-runs.ts';
import { levelsOf, secretSetOf } from '../oracle/secret/secret-set.ts';
import { hostBytesOf } from '../oracle/shapes/cost.ts';
import { type ReadyCheck, readied } from './bearable.ts';
import type { VerifyRequest } from './verify-request.ts';

/** Half of the cores: a reference's process keeps one busy, and so do compilers. None on a machine with two. */
const CHECKS_AHEAD = Math.min(8, Math.max(0, Math.floor(availableParallelism() / 2) - 1));

/**
 * Of all checks that are being made ready: inputs and results take memory, some twenty times as much in float64. Large shapes take most of a verification's
 * time, so a machine with much memory should have room for several of them.
 */
const MOST_BYTES_AHEAD = Math.max(32 * 1024 ** 2, usableMemoryBytes() / 256);

/** A check is made ready beside another one only if it takes at most so many bytes of memory: the other may take as much again. */
const MOST_HOST_BYTES_AHEAD = 2 ** 30;

/**
 * Makes the next checks ready while another check is judged: draws their inputs, works out what they expect, and whether they can be judged and see anything. Beside a GPU, threads and the
 * reference's processes do it, several checks ahead, where there are cores for them. Beside a virtual device the main thread and the reference's process do it, one check ahead.
 */
export class LookAhead {
  readonly #request: VerifyRequest;
  readonly #mostBytes: number;
  readonly #begun = new Map<Check, Promise<ReadyCheck | undefined>>();
  /** Of checks that are being made ready. */
  #bytes = 0;
  #next: { check: Check; ready: Promise<ReadyCheck | undefined> } | undefined;

  /** @param mostBytes of the buffers of all checks that are being made ready. */
  constructor(request: VerifyRequest, mostBytes = MOST_BYTES_AHEAD) {
    this.#request = request;
    this.#mostBytes = mostBytes;
  }

  /**
   * Makes the check ready that will be judged next; not beside a GPU. What was made ready for nothing, because the verification ended, is known to
   * the next candidate's.
   */
  prepare(check: Check | undefined): void {
    const { device, problem, checksAhead } = this.#request;
    if (device.measuring || checksAhead === 0 || !check || this.#next?.check === check) return;
    if (hostBytesOf(problem.file, check.dimensions) > MOST_HOST_BYTES_AHEAD) return;
    const ready = readied(this.#request, check);
    // Whoever asks for the check is told.
    ready.catch(() => {});
    this.#next = { check, ready };
  }

  /** @throws as {@link readied}. */
  ready(check: Check): Promise<ReadyCheck | undefined> {
    if (this.#next?.check === check) return this.#next.ready;
    return this.#begun.get(check) ?? readied(this.#request, check);
  }

  /** Begins with each of the next checks once. One for which there is no room yet is begun later, or made ready when it is its turn. */
  begin(next: readonly Check[]): void {
    const { device, checksAhead = device.measuring ? CHECKS_AHEAD : 0 } = this.#request;
    for (const check of next.slice(0, checksAhead)) {
      if (this.#begun.has(check) || this.#isTooLarge(check)) continue;
      const bytes = this.#bytesOf(check);
      if (this.#bytes + bytes > this.#mostBytes) return;
      this.#bytes += bytes;
      const ready = this.#makeReady(check).finally(() => {
        this.#bytes -= bytes;
      });
      // Whoever asks for the check is told.
      ready.catch(() => {});
      this.#begun.set(check, ready);
    }
  }

  /** A GPU works out what takes a host long. */
  #isTooLarge(check: Check): boolean {
    return this.#bytesOf(check) > this.#mostBytes || isLarge(this.#request.problem, check.dimensions);
  }

  #bytesOf({ dimensions }: Check): number {
    return expandBuffers(this.#request.problem.file, dimensions).reduce((sum, buffer) => sum + buffer.bytes, 0);
  }

  async #makeReady(check: Check): Promise<ReadyCheck | undefined> {
    const { oracle, problem, seed } = this.#request;
    const { dimensions, generatorSet } = check;
    const secret = secretSetOf(generatorSet);
    const [first = generatorSet] = secret ? levelsOf(secret) : [];
    const key = { problem, seed, dimensions, generatorSet: first };
    await oracle.ahead(key);
    if (!secret) this.#expect(check, key);
    return readied(this.#request, check);
  }

  /** Asks for what a check expects that is judged as it is; whoever judges it is told what fails. */
  #expect({ isOnce }: Check, key: CheckKey): void {
    try {
      const { leastSample, sample, leastExpectations, expectations } = this.#request.oracle.check(key);
      const expected: Promise<unknown> = isOnce ? (leastSample ?? sample)() : (leastExpectations ?? expectations)();
      expected.catch(() => {});
    } catch (error) {
      if (!(error instanceof WarpsmithError)) throw error;
    }
  }
}
