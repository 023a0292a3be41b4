import { rememberedAt } from '../../../core/once-for.ts';
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
/**
 * Bytes to read to evict everything from L2, as a multiple of L2: a hashed cache keeps some lines for longer than one pass.
 */
const SWEEP_L2_RATIO = 2;
/** Parameters that any of the functions takes. */
const MOST_PARAMETERS = 4;
/** Number of cached grids. Grids depend on the amount of work, and the same ones recur in every replay of a block. */
const MOST_CONFIGS = 1024;
/** Room for its job and its count. */
const SWEEP_JOB_BYTES = 256;

/** Device addresses of job lists, and of the counts of counting jobs. */
export interface Staged {
  readonly places: ReadonlyMap<PackedJobs, { readonly jobs: bigint; readonly counts?: number }>;
  readonly countsAt: bigint;
  readonly countBytes: number;
}

/** Counts of one list's jobs. */
export type CountsOf = (jobs: PackedJobs) => BigUint64Array;

const COUNT_BYTES = 8;

/** Launches the trusted device code on many buffers at once. */
export class HarnessRunner {
  readonly #context: CudaContext;
  readonly #module: bigint;
  readonly #functions = new Map<HarnessFunction, bigint>();
  /** What functions were last allowed. */
  readonly #sharedBytes = new Map<bigint, number>();
  readonly #configs = new Map<string, LaunchConfig>();
  readonly #values = new NativeMemory(8 * MOST_PARAMETERS);
  /** Addresses of the values. */
  readonly #parameters = new NativeMemory(8 * MOST_PARAMETERS);
  /** Device memory for jobs and counts, grown as needed. */
  #scratch = { address: 0n, bytes: 0 };
  /** What sweeps L2; allocated when first needed. */
  #sweep: { jobs: PackedJobs; place: bigint; countsAt: bigint } | undefined;

  /** @throws CudaError */
  constructor(context: CudaContext) {
    this.#context = context;
    const image = new TextEncoder().encode(`${HARNESS_PTX}\0`);
    this.#module = context.driver.create('cuModuleLoadDataEx', image, 0, 0n, 0n);
    for (let i = 0; i < MOST_PARAMETERS; i++)
      this.#parameters.view.setBigUint64(8 * i, this.#values.address + BigInt(8 * i), true);
  }

  /** Runs `draw` or `fill` over the jobs. */
  apply(name: 'draw' | 'fill', jobs: PackedJobs): void {
    if (jobs.chunkCount === 0) return;
    const { driver, stream } = this.#context;
    this.enqueueStaged(name, jobs, this.stage({ working: [jobs], counting: [] }));
    driver.call('cuStreamSynchronize', stream);
  }

  /** Device memory of this size. Its contents last until the next call. */
  #scratchOf(bytes: number): bigint {
    const { driver } = this.#context;
    if (bytes > this.#scratch.bytes) {
      if (this.#scratch.bytes > 0) driver.call('cuMemFree_v2', this.#scratch.address);
      this.#scratch = { address: 0n, bytes: 0 };
      this.#scratch = { address: driver.create('cuMemAlloc_v2', 2 * bytes), bytes: 2 * bytes };
    }
    return this.#scratch.address;
  }

  /** Uploads job lists (sizes are multiples of 8) in one copy, with a zero for each counting job. */
  stage({ working, counting }: { working: readonly PackedJobs[]; counting: readonly PackedJobs[] }): Staged {
    const { driver } = this.#context;
    const lists = [...working, ...counting];
    const jobBytes = lists.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const countBytes = COUNT_BYTES * counting.reduce((sum, { jobCount }) => sum + jobCount, 0);
    const base = this.#scratchOf(Math.max(1, jobBytes + countBytes));
    const contents = new Uint8Array(jobBytes + countBytes);
    const places = new Map<PackedJobs, { jobs: bigint; counts?: number }>();
    let [at, counts] = [0, 0];
    for (const [index, list] of lists.entries()) {
      contents.set(list.bytes, at);
      const jobs = base + BigInt(at);
      at += list.bytes.length;
      if (index < working.length) places.set(list, { jobs });
      else {
        places.set(list, { jobs, counts });
        counts += COUNT_BYTES * list.jobCount;
      }
    }
    driver.copyIn(base, contents);
    return { places, countsAt: base + BigInt(jobBytes), countBytes };
  }

  /** Puts staged jobs into the stream. */
  enqueueStaged(name: HarnessFunction, jobs: PackedJobs, { places, countsAt }: Staged): void {
    if (jobs.chunkCount === 0) return;
    const place = places.get(jobs)!;
    const counts = place.counts === undefined ? [] : [countsAt + BigInt(place.counts)];
    const values = [place.jobs, BigInt(jobs.jobCount), BigInt(jobs.chunkCount), ...counts];
    this.enqueue(name, harnessGrid(jobs, this.#context.info.attributes.smCount), values);
  }

  /** All counts, once the stream has finished, in one copy. */
  readCounts({ places, countsAt, countBytes }: Staged): CountsOf {
    const all = new BigUint64Array(countBytes / COUNT_BYTES);
    this.#context.driver.copyOut(new Uint8Array(all.buffer), countsAt);
    return (jobs) => {
      const first = places.get(jobs)!.counts! / COUNT_BYTES;
      return all.subarray(first, first + jobs.jobCount);
    };
  }

  /** Enqueues a kernel that overwrites every SM's shared memory and registers. */
  enqueueScrub(key: bigint): void {
    const { smCount, sharedBytesPerCtaOptIn: shared } = this.#context.info.attributes;
    this.enqueue('scrub', smCount, [key, BigInt(shared), SCRUB_ROUNDS], shared);
  }

  /** Enqueues a kernel that overwrites local memory up to `localBytes`, which leaves lines of L2 dirty. */
  enqueueScrubLocal(key: bigint, localBytes: number): void {
    if (localBytes === 0) return;
    const { smCount, maximumThreadsPerSm } = this.#context.info.attributes;
    const ctas = smCount * Math.floor(maximumThreadsPerSm / HARNESS_BLOCK);
    this.enqueue('scrubLocal', ctas, [key, BigInt(localBytes)]);
  }

  /** Enqueues a kernel that reads so much memory of its own that L2 holds nothing else. */
  enqueueSweep(): void {
    this.#sweep ??= this.#prepareSweep();
    const { jobs, place, countsAt } = this.#sweep;
    const values = [place, BigInt(jobs.jobCount), BigInt(jobs.chunkCount), countsAt];
    this.enqueue('count', harnessGrid(jobs, this.#context.info.attributes.smCount), values);
  }

  /** The memory to read, followed by the job that reads it. */
  #prepareSweep() {
    const { driver, info } = this.#context;
    const bytes = SWEEP_L2_RATIO * info.attributes.l2Bytes;
    const address = driver.create('cuMemAlloc_v2', bytes + SWEEP_JOB_BYTES);
    const jobs = packFillJobs([{ address, bytes, pattern: Uint8Array.of(0) }]);
    const place = address + BigInt(bytes);
    driver.copyIn(place, jobs.bytes);
    return { jobs, place, countsAt: place + BigInt(jobs.bytes.length) };
  }

  /** Enqueues one launch. The driver copies the parameters before it returns. */
  enqueue(name: HarnessFunction, grid: number, values: readonly bigint[], dynamicSharedBytes = 0): void {
    const { driver, stream } = this.#context;
    for (const [i, value] of values.entries()) this.#values.view.setBigUint64(8 * i, value, true);
    const fn = this.#function(name);
    if (dynamicSharedBytes > (this.#sharedBytes.get(fn) ?? 0)) {
      driver.call('cuFuncSetAttribute', fn, FUNCTION_ATTRIBUTE.maximumDynamicSharedBytes, dynamicSharedBytes);
      this.#sharedBytes.set(fn, dynamicSharedBytes);
    }
    const config = this.#configOf(grid, dynamicSharedBytes);
    driver.call('cuLaunchKernelEx', config.addressFor(stream), fn, this.#parameters.address, 0n);
  }

  #configOf(grid: number, dynamicSharedBytes: number): LaunchConfig {
    const key = `${grid} ${dynamicSharedBytes}`;
    const make = () => new LaunchConfig({ grid: [grid, 1, 1], block: [HARNESS_BLOCK, 1, 1], dynamicSharedBytes });
    return rememberedAt(this.#configs, key, make, MOST_CONFIGS);
  }

  #function(name: HarnessFunction): bigint {
    const find = () => this.#context.driver.create('cuModuleGetFunction', this.#module, HARNESS_FUNCTIONS[name]);
    return rememberedAt(this.#functions, name, find);
  }
}
