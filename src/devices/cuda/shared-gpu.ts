import { AsyncLocalStorage } from 'node:async_hooks';
import { createTurns } from '../../core/in-turn.ts';
import type { GpuUse } from '../../core/measuring-device.ts';

/** A GPU on which this process judges several candidates at a time, and runs references. */
export class SharedGpu implements GpuUse {
  /** Set for work that uses the GPU, or times: what it asks for is part of it. */
  readonly #within = new AsyncLocalStorage<'beside' | 'alone'>();
  readonly #inTurn = createTurns();
  #usedBy = 0;
  /** While something is timed, or waits for the work of others to end. */
  #timed: PromiseWithResolvers<void> | undefined;
  #unused: PromiseWithResolvers<void> | undefined;

  async beside<T>(work: () => Promise<T>): Promise<T> {
    if (this.#within.getStore()) return work();
    while (this.#timed) await this.#timed.promise;
    this.#usedBy += 1;
    try {
      return await this.#within.run('beside', work);
    } finally {
      this.#usedBy -= 1;
      if (this.#usedBy === 0) this.#unused?.resolve();
    }
  }

  alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#within.getStore() === 'alone') return work();
    return this.#inTurn(() => this.#time(work));
  }

  async #time<T>(work: () => Promise<T>): Promise<T> {
    this.#timed = Promise.withResolvers();
    try {
      if (this.#usedBy > 0) {
        this.#unused = Promise.withResolvers();
        await this.#unused.promise;
      }
      return await this.#within.run('alone', work);
    } finally {
      this.#unused = undefined;
      const { resolve } = this.#timed;
      this.#timed = undefined;
      resolve();
    }
  }
}
