import { NativeMemory } from '../../../ffi/native-memory.ts';
import { LaunchConfig } from '../driver/structs.ts';
import {
  HARNESS_BLOCK,
  HARNESS_FUNCTIONS,
  type HarnessFunction,
  harnessGrid,
  type PackedJobs,
} from '../harness/harness.ts';
import { HARNESS_PTX } from '../harness/harness-ptx.ts';
import type { CudaContext } from './cuda-context.ts';

/** Launches the trusted device code on many buffers at once. */
export class HarnessRunner {
  readonly #context: CudaContext;
  readonly #module: bigint;
  readonly #functions = new Map<HarnessFunction, bigint>();
  /** Device memory for jobs and counts, grown as needed. */
  #scratch = { address: 0n, bytes: 0 };

  /** @throws CudaError */
  constructor(context: CudaContext) {
    this.#context = context;
    const image = new TextEncoder().encode(`${HARNESS_PTX}\0`);
    this.#module = context.driver.create('cuModuleLoadDataEx', image, 0, 0n, 0n);
  }

  /** Runs `draw` or `fill` over the jobs. */
  apply(name: 'draw' | 'fill', jobs: PackedJobs): void {
    if (jobs.chunkCount === 0) return;
    const place = this.#upload(jobs, 0);
    this.#launch(name, jobs, [place, BigInt(jobs.jobCount), BigInt(jobs.chunkCount)]);
  }

  /** Runs `match` or `count` over the jobs; one number for each. */
  count(name: 'match' | 'count', jobs: PackedJobs): BigUint64Array {
    const counts = new BigUint64Array(jobs.jobCount);
    if (jobs.chunkCount === 0) return counts;
    const place = this.#upload(jobs, counts.byteLength);
    const countsAt = place + BigInt(jobs.bytes.length);
    const { driver } = this.#context;
    driver.call('cuMemsetD8_v2', countsAt, 0, counts.byteLength);
    this.#launch(name, jobs, [place, BigInt(jobs.jobCount), BigInt(jobs.chunkCount), countsAt]);
    driver.call('cuMemcpyDtoH_v2', new Uint8Array(counts.buffer), countsAt, counts.byteLength);
    return counts;
  }

  /** Writes the jobs, whose size is a multiple of 8, with room behind them. */
  #upload({ bytes }: PackedJobs, roomBytes: number): bigint {
    const { driver } = this.#context;
    const needed = bytes.length + roomBytes;
    if (needed > this.#scratch.bytes) {
      if (this.#scratch.bytes > 0) driver.call('cuMemFree_v2', this.#scratch.address);
      this.#scratch = { address: 0n, bytes: 0 };
      this.#scratch = { address: driver.create('cuMemAlloc_v2', 2 * needed), bytes: 2 * needed };
    }
    driver.call('cuMemcpyHtoD_v2', this.#scratch.address, bytes, bytes.length);
    return this.#scratch.address;
  }

  /** Puts one launch into the context's stream. */
  enqueue(name: HarnessFunction, grid: number, values: readonly bigint[]): void {
    const { driver, stream } = this.#context;
    const block = new NativeMemory(8 * values.length);
    const parameters = new NativeMemory(8 * values.length);
    for (const [i, value] of values.entries()) {
      block.view.setBigUint64(8 * i, value, true);
      parameters.view.setBigUint64(8 * i, block.address + BigInt(8 * i), true);
    }
    const config = new LaunchConfig({ grid: [grid, 1, 1], block: [HARNESS_BLOCK, 1, 1], dynamicSharedBytes: 0 });
    driver.call('cuLaunchKernelEx', config.addressFor(stream), this.#function(name), parameters.address, 0n);
  }

  /** Launches and waits. */
  #launch(name: HarnessFunction, jobs: PackedJobs, values: readonly bigint[]): void {
    const { driver, stream, info } = this.#context;
    // Copies and memsets do not wait for this stream, nor it for them.
    driver.call('cuCtxSynchronize');
    this.enqueue(name, harnessGrid(jobs, info.attributes.smCount), values);
    driver.call('cuStreamSynchronize', stream);
  }

  #function(name: HarnessFunction): bigint {
    let handle = this.#functions.get(name);
    if (handle === undefined) {
      handle = this.#context.driver.create('cuModuleGetFunction', this.#module, HARNESS_FUNCTIONS[name]);
      this.#functions.set(name, handle);
    }
    return handle;
  }
}
