import { type Job, Queue, QueueEvents } from 'bullmq';
import type { Redis } from 'ioredis';
import { errorTeller, openConnection } from './connect.ts';
import { whoIsThere } from './presence.ts';
import { type QueueAccess, queueFailure } from './queue-access.ts';
import type { Sealed } from './seal.ts';
import { putFiles } from './shared-files.ts';

/** Of keys in the queue. */
export const PREFIX = 'warpsmith';

/** What a job, or the answer to it, is sealed for. */
export const JOB = (queue: string, id: string): string => `job ${queue} ${id}`;
export const ANSWER = (queue: string, id: string): string => `answer ${queue} ${id}`;

/** How often jobs are looked for, beside what the queue tells by itself: it may have lost them. */
const LOOK_MS = 2_000;
/** A queue that is gone for longer is given up. */
const LOST_AFTER_MS = 60_000;
/** Answers and failures of one job after which it is given up. */
const MOST_TRIES = 3;
/** A finished job that nobody took away. */
const KEPT_SECONDS = 3_600;

export interface Ask {
  /** Names the job in its queue: asking again for the same id gives the same job. */
  readonly id: string;
  readonly body: string;
  /** SHA-256 → contents. */
  readonly files: ReadonlyMap<string, () => Uint8Array>;
  /** Lower goes first. */
  readonly priority: number;
  /** Why an answer is refused; undefined if it is not. */
  readonly refuse: (answer: string) => string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** No worker could be brought to an answer. */
export class JobFailed extends Error {}

interface Pending {
  readonly ask: Ask;
  tries: number;
  isBusy: boolean;
  isDue: boolean;
  resolve(answer: string): void;
  reject(error: unknown): void;
}

/** The coordinator's side of a queue: asks for jobs, and waits for answers whatever happens to workers and queue. */
export class JobQueue {
  readonly redis: Redis;
  readonly #listening: Redis;
  readonly #access: QueueAccess;
  readonly #name: string;
  readonly #queue: Queue<Sealed, Sealed>;
  readonly #events: QueueEvents;
  readonly #pending = new Map<string, Pending>();
  readonly #timer: NodeJS.Timeout;
  readonly #onTrouble: (text: string) => void;
  readonly #onError: (error: Error) => void;
  #goneSinceMs: number | undefined;

  /** @param onTrouble told what was refused, by us or by the queue, and when the queue is gone. */
  constructor(access: QueueAccess, name: string, onTrouble: (text: string) => void = () => {}) {
    this.#access = access;
    this.#name = name;
    this.#onTrouble = onTrouble;
    this.#onError = errorTeller(onTrouble);
    this.redis = openConnection(access, this.#onError);
    // It listens, which blocks a connection.
    this.#listening = openConnection(access, this.#onError);
    this.#queue = new Queue(name, { connection: this.redis, prefix: PREFIX });
    this.#events = new QueueEvents(name, { connection: this.#listening, prefix: PREFIX });
    this.#queue.on('error', this.#onError);
    this.#events.on('error', this.#onError);
    const look = ({ jobId }: { jobId: string }): void => this.#look(jobId);
    this.#events.on('completed', look);
    this.#events.on('failed', look);
    this.#timer = setInterval(() => this.#tick(), LOOK_MS);
  }

  /**
   * The answer to a job. A job that the queue lost is asked for again.
   *
   * @throws JobFailed; WarpsmithError `queue-lost` or `queue-refuses`; the signal's reason.
   */
  ask(ask: Ask): Promise<string> {
    ask.signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#settle(ask.id, (pending) => pending.reject(ask.signal?.reason));
      const done = () => ask.signal?.removeEventListener('abort', onAbort);
      ask.signal?.addEventListener('abort', onAbort, { once: true });
      const pending: Pending = {
        ...{ ask, tries: 0, isBusy: false, isDue: false },
        resolve(answer) {
          done();
          resolve(answer);
        },
        reject(error) {
          done();
          reject(error);
        },
      };
      this.#pending.set(ask.id, pending);
      this.#look(ask.id);
    });
  }

  /** What the workers that are there say of themselves. */
  workers(): Promise<string[]> {
    return whoIsThere(this.redis, this.#access.seal);
  }

  /** Takes back what nobody works on yet. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const left = [...this.#pending.keys()];
    for (const id of left) this.#settle(id, ({ reject }) => reject(new Error('the queue was closed')));
    if (this.redis.status === 'ready') await Promise.all(left.map((id) => this.#remove(id)));
    for (const connection of [this.#listening, this.redis]) connection.disconnect();
    await Promise.all([this.#queue.close(), this.#events.close()]).catch(() => {});
  }

  #tick(): void {
    const isThere = this.redis.status === 'ready';
    if (isThere && this.#goneSinceMs !== undefined) this.#onTrouble(`the queue at ${this.#access.shown} is back`);
    if (!isThere && this.#goneSinceMs === undefined)
      this.#onTrouble(`the queue at ${this.#access.shown} is gone; waiting for it`);
    this.#goneSinceMs = isThere ? undefined : (this.#goneSinceMs ?? performance.now());
    if (isThere) for (const id of this.#pending.keys()) this.#look(id);
    else if (performance.now() - this.#goneSinceMs! > LOST_AFTER_MS) this.#giveUp();
  }

  #giveUp(): void {
    const error = queueFailure(
      'queue-lost',
      this.#access,
      `The queue at ${this.#access.shown} has been gone for ${LOST_AFTER_MS / 1000} s.`,
      'When it is back, `warpsmith resume` continues the run.',
    );
    for (const id of [...this.#pending.keys()]) this.#settle(id, ({ reject }) => reject(error));
  }

  #look(id: string): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    pending.isDue = true;
    if (!pending.isBusy) void this.#attendWhileDue(pending);
  }

  /** What is told while it is looked for is looked for once more. */
  async #attendWhileDue(pending: Pending): Promise<void> {
    const { id } = pending.ask;
    pending.isBusy = true;
    try {
      while (pending.isDue && this.#pending.has(id)) {
        pending.isDue = false;
        await this.#attend(pending);
      }
    } catch (error) {
      this.#settle(id, ({ reject }) => reject(this.#explain(error)));
    }
    pending.isBusy = false;
  }

  #explain(error: unknown): unknown {
    if (!(error instanceof Error) || error.name !== 'ReplyError') return error;
    return queueFailure(
      'queue-refuses',
      this.#access,
      `The queue at ${this.#access.shown} refuses a job: ${error.message}`,
      'Give it memory, and the user permissions; then `warpsmith resume` continues the run.',
    );
  }

  async #attend(pending: Pending): Promise<void> {
    const { id } = pending.ask;
    const job = await this.#queue.getJob(id);
    if (!job) return this.#add(pending.ask);
    if (!job.finishedOn) return;
    const { answer, refusal } = this.#answerOf(job, pending.ask);
    if (answer !== undefined) {
      this.#settle(id, ({ resolve }) => resolve(answer));
      await this.#remove(id);
      return;
    }
    pending.tries += 1;
    this.#onTrouble(`job ${id}: ${refusal}`);
    await this.#remove(id);
    if (pending.tries < MOST_TRIES) await this.#add(pending.ask);
    else this.#settle(id, ({ reject }) => reject(new JobFailed(refusal)));
  }

  #answerOf(job: Job<Sealed, Sealed>, { id, refuse }: Ask): { answer?: string; refusal?: string } {
    if (job.failedReason) return { refusal: `no answer: ${job.failedReason}` };
    const answer = this.#access.seal.open(ANSWER(this.#name, id), job.returnvalue);
    if (answer === undefined) return { refusal: 'its answer was not signed with our key, and is refused' };
    const refusal = refuse(answer);
    return refusal === undefined ? { answer } : { refusal };
  }

  async #add({ id, body, files, priority }: Ask): Promise<void> {
    await putFiles(this.redis, files);
    const kept = { age: KEPT_SECONDS };
    const options = { jobId: id, priority, removeOnComplete: kept, removeOnFail: kept };
    await this.#queue.add('evaluation', this.#access.seal.close(JOB(this.#name, id), body), options);
  }

  #settle(id: string, settle: (pending: Pending) => void): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    settle(pending);
    // One that is being worked on can't be removed; its answer is not waited for.
    if (pending.ask.signal?.aborted) void this.#remove(id);
  }

  async #remove(id: string): Promise<void> {
    await this.#queue.remove(id).catch(this.#onError);
  }
}
