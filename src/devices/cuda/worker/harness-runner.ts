import { NativeMemory } from '../../../ffi/native-memory.ts';
import { FUNCTION_ATTRIBUTE } from '../driver/constants.ts';
import { LaunchConfig } from '../driver/structs.ts';
import {
  HARNESS_BLOCK,
  HARNESS_FUNCTIONS,
  type HarnessFunction,
  harnessGrid,
  type PackedJobs,
  packFillJobs,
} from '../harness/harness.ts';
import { HARNESS_PTX } from '../harness/harness-ptx.ts';
import type { CudaContext } from './cuda-context.ts';

/** Rounds in which the scrub mixes its registers. */
const SCRUB_ROUNDS = 2n;
/** What is read to push everything else out of L2, in L2s: a hashed cache keeps some lines for longer than one. */
const SWEEP_L2_RATIO = 2;

/** Jobs on the device, and a count of zero for each of those that count. */
export interface StagedJobs {
  readonly places: readonly bigint[];
  readonly countsAt: bigint;
}

/** Launches the trusted device code on many buffers at once. */
export class HarnessRunner {
  readonly #context: CudaContext;
  readonly #module: bigint;
  readonly #functions = new Map<HarnessFunction, bigint>();
  /** Device memory for jobs and counts, grown as needed. */
  #scratch = { address: 0n, bytes: 0 };
  /** What is read to sweep L2; allocated when first needed. */
  #sweep: { address: bigint; bytes: number } | undefined;

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

  /** Uploads lists of jobs, to be enqueued one by one, and zeroes `countCount` counts. */
  stage(lists: readonly PackedJobs[], countCount: number): StagedJobs {
    const { driver } = this.#context;
    const bytes = Buffer.concat(lists.map((list) => list.bytes));
    const jobs = { bytes, jobCount: 0, chunkCount: 0 };
    const base = this.#upload(jobs, 8 * countCount);
    const countsAt = base + BigInt(bytes.length);
    if (countCount > 0) driver.call('cuMemsetD8_v2', countsAt, 0, 8 * countCount);
    let place = base;
    const places = lists.map((list) => {
      const own = place;
      place += BigInt(list.bytes.length);
      return own;
    });
    return { places, countsAt };
  }

  /** Puts staged jobs into the stream; `countsAt` for those that count. */
  enqueueJobs(name: HarnessFunction, jobs: PackedJobs, place: bigint, countsAt?: bigint): void {
    if (jobs.chunkCount === 0) return;
    const counts = countsAt === undefined ? [] : [countsAt];
    const values = [place, BigInt(jobs.jobCount), BigInt(jobs.chunkCount), ...counts];
    this.enqueue(name, harnessGrid(jobs, this.#context.info.attributes.smCount), values);
  }

  readCounts(countsAt: bigint, count: number): number[] {
    const counts = new BigUint64Array(count);
    const bytes = new Uint8Array(counts.buffer);
    if (count > 0) this.#context.driver.call('cuMemcpyDtoH_v2', bytes, countsAt, bytes.length);
    return [...counts].map(Number);
  }

  /** Puts into the stream: overwrites every SM's shared memory and registers, and local memory as far as `localBytes`. */
  enqueueScrub(key: bigint, localBytes: number): void {
    const { smCount, sharedBytesPerCtaOptIn, maximumThreadsPerSm } = this.#context.info.attributes;
    const shared = sharedBytesPerCtaOptIn;
    this.enqueue('scrub', smCount, [key, BigInt(shared), SCRUB_ROUNDS], shared);
    if (localBytes === 0) return;
    const ctas = smCount * Math.floor(maximumThreadsPerSm / HARNESS_BLOCK);
    this.enqueue('scrubLocal', ctas, [key, BigInt(localBytes)]);
  }

  /** Puts into the stream: reads so much of its own memory that L2 holds nothing else. */
  enqueueSweep(): void {
    const { driver, info } = this.#context;
    if (!this.#sweep) {
      const bytes = SWEEP_L2_RATIO * info.attributes.l2Bytes;
      this.#sweep = { address: driver.create('cuMemAlloc_v2', bytes), bytes };
    }
    const jobs = packFillJobs([{ ...this.#sweep, pattern: Uint8Array.of(0) }]);
    const { places, countsAt } = this.stage([jobs], 1);
    driver.call('cuCtxSynchronize');
    this.enqueueJobs('count', jobs, places[0]!, countsAt);
  }

  /** Puts one launch into the context's stream. */
  enqueue(name: HarnessFunction, grid: number, values: readonly bigint[], dynamicSharedBytes = 0): void {
    const { driver, stream } = this.#context;
    const block = new NativeMemory(8 * values.length);
    const parameters = new NativeMemory(8 * values.length);
    for (const [i, value] of values.entries()) {
      block.view.setBigUint64(8 * i, value, true);
      parameters.view.setBigUint64(8 * i, block.address + BigInt(8 * i), true);
    }
    const config = new LaunchConfig({ grid: [grid, 1, 1], block: [HARNESS_BLOCK, 1, 1], dynamicSharedBytes });
    const fn = this.#function(name);
    if (dynamicSharedBytes > 0)
      driver.call('cuFuncSetAttribute', fn, FUNCTION_ATTRIBUTE.maximumDynamicSharedBytes, dynamicSharedBytes);
    driver.call('cuLaunchKernelEx', config.addressFor(stream), fn, parameters.address, 0n);
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
