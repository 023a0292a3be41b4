import type { Worker } from 'node:worker_threads';
import { WRITE_PAGE_BYTES } from '../../virtual-gpu/layout.ts';
import type { LaunchRequest, WorkerCounts } from '../../virtual-gpu/runtime/cta-runner.ts';
import type { WrittenPages } from '../../virtual-gpu/runtime/write-map.ts';
import type { BuiltKernel } from './kept-code.ts';
import {
  type FaultReport,
  type Observed,
  type OwnMemory,
  type PrintReport,
  QUEUE,
  type WorkerReply,
  type WorkerRequest,
} from './protocol.ts';
import { giveBackThread, post, takeThread } from './worker-threads.ts';

export type PoolOutcome =
  /**
   * `overlapping`: CTAs of different workers, or of one watched worker, stored to the same bytes, so the contents depend on
   * chance.
   */
  | ({ kind: 'finished'; counts: WorkerCounts[]; decisions: Uint8Array[]; overlapping: boolean } & Observed)
  | { kind: 'fault'; fault: FaultReport /** Up to there. */; printed: PrintReport['lines'] }
  | {
      kind: 'timed-out';
      /** Clusters that were begun, of all. */
      begun: number;
      count: number;
      /** What the threads of the first that had not ended were doing, if it is known. */
      waits: string | undefined;
    }
  | { kind: 'crashed'; message: string };

type RunRequest = WorkerRequest & { kind: 'run' };

/** Worker threads that run CTAs. Taken when first needed; replaced after a timeout or crash. */
export class WorkerPool {
  #device: WebAssembly.Memory | OwnMemory;
  #reads: WebAssembly.Memory;
  readonly threads: number;
  readonly #workers: Worker[] = [];
  #kernels = new Map<number, BuiltKernel>();
  #nextKernel = 1;
  #nextJob = 1;
  #running = 0;

  /** @param reads the memory of a read map. */
  constructor(device: WebAssembly.Memory | OwnMemory, reads: WebAssembly.Memory, threads: number) {
    this.#device = device;
    this.#reads = reads;
    this.threads = threads;
  }

  /** Takes the threads, also before they are needed. */
  prepare(): void {
    while (this.#workers.length < this.threads) {
      const worker = takeThread(this.#device, this.#reads);
      for (const [kernel, built] of this.#kernels) postKernel(worker, kernel, built);
      this.#workers.push(worker);
    }
  }

  /** Makes a kernel known to all workers; returns its handle. */
  load(built: BuiltKernel): number {
    const kernel = this.#nextKernel++;
    this.#kernels.set(kernel, built);
    for (const worker of this.#workers) postKernel(worker, kernel, built);
    return kernel;
  }

  unload(kernel: number): void {
    this.#kernels.delete(kernel);
    for (const worker of this.#workers) post(worker, { kind: 'unload', kernel });
  }

  /**
   * Runs the clusters in `order`, most of which are one CTA. The reported fault is that of the first that faults in this order.
   * @param serial use one worker only, for kernels whose CTAs may communicate.
   */
  async run(
    kernel: number,
    launch: Omit<LaunchRequest, 'isSerial'>,
    order: Int32Array,
    options: { serial: boolean; timeoutMs: number },
  ): Promise<PoolOutcome> {
    this.prepare();
    this.#running++;
    const queue = new Int32Array(new SharedArrayBuffer(QUEUE.cells * 4));
    queue[QUEUE.faultedAt] = 0x7fffffff;
    // A thread without a CTA would only cost messages.
    const workers = this.#workers.slice(0, options.serial ? 1 : Math.max(1, order.length));
    const job = this.#nextJob++;
    const tellsWrites = workers.length > 1;
    const own = { ...launch, isSerial: options.serial };
    const request: RunRequest = { kind: 'run', job, kernel, launch: own, order, queue, tellsWrites };
    const replies = workers.map((worker) => this.#ask(worker, request));
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<'timed-out'>((resolve) => {
      // Of what is left of a limit nothing may be left; Node warns of a negative time.
      // This thread may have been busy past the limit: answers that have come count first.
      timer = setTimeout(() => setImmediate(() => resolve('timed-out')), Math.max(1, options.timeoutMs));
    });
    try {
      const settled = await Promise.race([Promise.all(replies), timeout]);
      if (settled === 'timed-out') {
        const begun = Math.min(Atomics.load(queue, QUEUE.next), order.length);
        Atomics.store(queue, QUEUE.isLate, 1);
        const said = await lastWords(replies);
        if (!said) await this.#end();
        const waits = said && firstWait(said);
        return { kind: 'timed-out', begun, count: order.length, waits };
      }
      return outcomeOf(settled);
    } catch (error) {
      await this.#end();
      return { kind: 'crashed', message: error instanceof Error ? error.message : String(error) };
    } finally {
      clearTimeout(timer);
      this.#running--;
    }
  }

  /** Returns all threads, or ends them if a launch is in progress. The pool takes new ones when it is used again. */
  async close(): Promise<void> {
    if (this.#running > 0) return this.#end();
    await Promise.all(this.#workers.splice(0).map((worker) => giveBackThread(worker, this.#device)));
  }

  async #end(): Promise<void> {
    await Promise.all(this.#workers.splice(0).map((worker) => worker.terminate()));
  }

  #ask(worker: Worker, request: RunRequest): Promise<WorkerReply> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        worker.off('message', onMessage);
        worker.off('error', onError);
        worker.off('exit', onExit);
      };
      const onMessage = (reply: WorkerReply) => {
        if (reply.job !== request.job) return;
        settle();
        resolve(reply);
      };
      const onError = (error: Error) => {
        settle();
        reject(error);
      };
      const onExit = (code: number) => {
        settle();
        reject(new Error(`a worker thread ended with code ${code}`));
      };
      worker.on('message', onMessage);
      worker.on('error', onError);
      worker.on('exit', onExit);
      post(worker, request);
    });
  }
}

/** Threads look at the clock between slices of a warp. One that runs for long may not answer. */
const LAST_WORDS_MS = 1000;

/** The replies of threads that are told that their time is over; undefined if one does not answer. */
async function lastWords(replies: readonly Promise<WorkerReply>[]): Promise<WorkerReply[] | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), LAST_WORDS_MS);
  });
  return Promise.race([Promise.all(replies), silence]).finally(() => clearTimeout(timer));
}

/** What the threads of the first cluster do that has not come to its end. */
function firstWait(replies: readonly WorkerReply[]): string | undefined {
  return first(faultsOf(replies).filter(({ kind }) => kind === 'late'))?.message;
}

/** What threads need not know is left out: copying it would take as long as a launch. */
function postKernel(worker: Worker, kernel: number, { image, module }: BuiltKernel): void {
  const { wasm: _bytes, blockInstructions: _instructions, decisions: _decisions, ...rest } = image;
  post(worker, { kind: 'load', kernel, image: rest, module });
}

const faultsOf = (replies: readonly WorkerReply[]): FaultReport[] =>
  replies.flatMap((reply) => (reply.ok ? [] : [reply.fault]));

/** Among events of several CTAs, the event of the first CTA. */
const first = (reports: readonly (FaultReport | undefined)[]): FaultReport | undefined =>
  reports.filter((report) => report !== undefined).toSorted((a, b) => a.position - b.position)[0];

function outcomeOf(replies: readonly WorkerReply[]): PoolOutcome {
  const printed = joinReports(replies.flatMap((reply) => reply.printed ?? []));
  const fault = first(faultsOf(replies));
  if (fault) {
    const before = printed?.lines.filter(({ position }) => position <= fault.position);
    return { kind: 'fault', fault, printed: before ?? [] };
  }
  const ended = replies.filter((reply) => reply.ok);
  return {
    kind: 'finished',
    printed,
    // Watched launches run on one thread.
    watchedWrites: ended.map(({ watchedWrites }) => watchedWrites).find(Boolean),
    trace: ended.map(({ trace }) => trace).find(Boolean),
    // So do those over buffers in pages.
    touchedPages: ended.map(({ touchedPages }) => touchedPages).find(Boolean),
    olderRead: first(ended.map(({ olderRead }) => olderRead)),
    uninitialisedRead: first(ended.map(({ uninitialisedRead }) => uninitialisedRead)),
    decisions: ended.flatMap(({ decisions }) => decisions ?? []),
    counts: ended.flatMap(({ counts }) => counts ?? []),
    overlapping: ended.some(({ crossed }) => crossed) || doStoresOverlap(ended.flatMap(({ writes }) => writes ?? [])),
  };
}

/** The lines of all workers in the order of CTAs. */
function joinReports(reports: readonly PrintReport[]): PrintReport | undefined {
  if (reports.length === 0) return undefined;
  const lines = reports.flatMap((report) => report.lines).sort((a, b) => a.position - b.position);
  return { lines, calls: reports.reduce((sum, { calls }) => sum + calls, 0) };
}

/** Whether two workers have stored to the same byte. Consumes the pages. */
function doStoresOverlap(workers: readonly WrittenPages[]): boolean {
  const merged = new Map<number, Uint32Array>();
  for (const { pages, bytes } of workers) {
    for (const [i, page] of pages.entries()) {
      const words = new Uint32Array(bytes.buffer, i * WRITE_PAGE_BYTES, WRITE_PAGE_BYTES / 4);
      const before = merged.get(page);
      if (!before) merged.set(page, words);
      else if (mergeInto(before, words)) return true;
    }
  }
  return false;
}

/** Merges a page into that of the previous workers. Returns whether both have a byte in common. */
function mergeInto(all: Uint32Array, words: Uint32Array): boolean {
  let overlap = 0;
  for (let i = 0; i < words.length; i++) {
    overlap |= all[i]! & words[i]!;
    all[i]! |= words[i]!;
  }
  return overlap !== 0;
}
