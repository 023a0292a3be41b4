import { UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { errorTeller, openConnection } from './connect.ts';
import { ANSWER, JOB, PREFIX } from './job-queue.ts';
import { announce } from './presence.ts';
import type { QueueAccess } from './queue-access.ts';
import type { Sealed } from './seal.ts';

/** A worker that does not renew its lease for this long has lost its job to another. */
const LEASE_MS = 10_000;
/** Workers look for lost leases this many times in one. */
const LOOKS_PER_LEASE = 3;
/** Workers that may be lost over one job. */
const MOST_STALLED = 2;

export interface JobWorkerOptions {
  readonly access: QueueAccess;
  readonly queue: string;
  /** What the worker says of itself. */
  readonly said: string;
  /** Answers a job that was signed with our key. */
  readonly answer: (body: string, tools: { readonly redis: Redis; readonly signal: AbortSignal }) => Promise<string>;
  /** Told what was refused, by us or by the queue. */
  readonly onTrouble?: (text: string) => void;
  /** Shorter in tests. */
  readonly leaseMs?: number;
}

/** The worker's side of a queue: takes a job at a time, and answers it. */
export class JobWorker {
  readonly #redis: Redis;
  readonly #worker: Worker<Sealed, Sealed>;
  readonly #presence: { stop(): Promise<void> };
  readonly #ending = new AbortController();
  /** When it had something to do last; `performance.now()`. */
  busyAtMs = performance.now();
  isBusy = false;

  constructor(options: JobWorkerOptions) {
    const { access, queue, said, leaseMs = LEASE_MS } = options;
    const onError = errorTeller((text) => options.onTrouble?.(text));
    this.#redis = openConnection(access, onError);
    this.#worker = new Worker<Sealed, Sealed>(queue, (job) => this.#work(job, options), {
      connection: this.#redis,
      prefix: PREFIX,
      concurrency: 1,
      lockDuration: leaseMs,
      // Redis takes whole milliseconds only; a fraction would fail every look.
      stalledInterval: Math.ceil(leaseMs / LOOKS_PER_LEASE),
      maxStalledCount: MOST_STALLED,
    });
    this.#worker.on('error', onError);
    this.#presence = announce(this.#redis, access.seal, { said, onError });
  }

  async #work(job: { readonly id?: string; readonly data: Sealed }, options: JobWorkerOptions): Promise<Sealed> {
    const { access, queue, answer, onTrouble } = options;
    const id = job.id ?? '';
    const body = access.seal.open(JOB(queue, id), job.data);
    if (body === undefined) {
      const reason = `job ${id} was not signed with our key; it is not run`;
      onTrouble?.(reason);
      throw new UnrecoverableError(reason);
    }
    this.isBusy = true;
    try {
      return access.seal.close(
        ANSWER(queue, id),
        await answer(body, { redis: this.#redis, signal: this.#ending.signal }),
      );
    } finally {
      this.isBusy = false;
      this.busyAtMs = performance.now();
    }
  }

  /** Takes no more jobs. The one at hand has this long to end; then another worker takes it. */
  async close(graceMs: number): Promise<void> {
    await this.#presence.stop();
    const timer = setTimeout(() => this.#ending.abort(new Error('the worker ends')), graceMs);
    await this.#worker.close().catch(() => {});
    clearTimeout(timer);
    this.#redis.disconnect();
  }
}
