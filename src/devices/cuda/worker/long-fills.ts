import type { Fill } from '../../../core/measuring-device.ts';
import type { CudaContext } from './cuda-context.ts';
import { type CudaBuffer, fillMemory } from './memory.ts';

/** A fill with a pattern that the trusted device code does not take: it comes from device memory that holds it. */
export interface LongFill {
  readonly to: CudaBuffer;
  readonly from: bigint;
}

/** Sizes of patterns that the trusted device code takes. */
const SHORT: ReadonlySet<number> = new Set([1, 2, 4, 8]);

export const isShort = ({ pattern }: Fill<CudaBuffer>): boolean => SHORT.has(pattern.length);

interface Table {
  readonly pattern: Uint8Array;
  readonly bytes: number;
  readonly address: bigint;
}

/** Contents of workspaces in device memory, from which every round copies: each is written once, before anything is timed. */
export class LongFills {
  readonly #context: CudaContext;
  /** Few: one for each workspace with contents. */
  #tables: Table[] = [];

  constructor(context: CudaContext) {
    this.#context = context;
  }

  /** The long ones among fills. @throws CudaError when the GPU is out of memory. */
  of(fills: readonly Fill<CudaBuffer>[]): LongFill[] {
    return fills
      .filter((fill) => !isShort(fill))
      .map(({ buffer, pattern }) => {
        this.#context.mustBeAllocated(buffer);
        return { to: buffer, from: this.#tableOf(pattern, buffer.bytes).address };
      });
  }

  enqueue(fills: readonly LongFill[]): void {
    for (const { to, from } of fills) this.#context.driver.enqueueCopy(to.address, from, to.bytes);
  }

  /** Frees all tables. Nothing that was enqueued may still run. */
  release(): void {
    for (const { address } of this.#tables) this.#context.driver.call('cuMemFree_v2', address);
    this.#tables = [];
  }

  #tableOf(pattern: Uint8Array, bytes: number): Table {
    const known = this.#tables.find((table) => table.bytes === bytes && Buffer.compare(table.pattern, pattern) === 0);
    if (known) return known;
    const { driver } = this.#context;
    const table = { pattern, bytes, address: driver.create('cuMemAlloc_v2', bytes) };
    this.#tables.push(table);
    fillMemory(driver, table.address, bytes, pattern);
    return table;
  }
}
