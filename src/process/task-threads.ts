import { Worker } from 'node:worker_threads';
import { WarpsmithError } from '../core/errors.ts';
import type { TaskReply } from './serve-tasks.ts';

/** A thread ended, or can't be had. Whoever asked works by itself. */
export class ThreadLost extends Error {}

/** What threads can be asked for, by name: what a task takes, and what it gives. */
export type Tasks = Readonly<Record<string, { readonly take: unknown; readonly give: unknown }>>;

/** Threads that answer requests beside this one. They start when they are needed, and never keep the process alive while they wait. */
export interface TaskThreads<T extends { [N in keyof T]: Tasks[string] }> {
  /**
   * @param given memory that goes to the thread instead of being copied: it is lost here.
   * @throws {@link ThreadLost}; WarpsmithError as the thread met it.
   */
  ask<N extends keyof T & string>(task: N, take: T[N]['take'], given?: Iterable<ArrayBuffer>): Promise<T[N]['give']>;
  close(): Promise<void>;
}

/** @param entry the module that a thread runs; it calls `serveTasks`. */
export function createTaskThreads<T extends { [N in keyof T]: Tasks[string] }>(
  entry: URL,
  count: number,
): TaskThreads<T> {
  const threads: Thread[] = [];
  let isClosed = false;
  /** The one with the least to do; another one as long as all have something to do. */
  const freest = (): Thread => {
    const [least] = threads.filter(({ isOver }) => !isOver).sort((a, b) => a.pendingCount - b.pendingCount);
    if (least && (least.pendingCount === 0 || threads.length >= count)) return least;
    if (threads.length >= count) throw new ThreadLost('all threads ended');
    const thread = new Thread(entry);
    threads.push(thread);
    return thread;
  };
  return {
    async ask(task, take, given = []) {
      if (isClosed) throw new ThreadLost('the threads are closed');
      return freest().ask(task, take, [...given]);
    },
    async close() {
      isClosed = true;
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}

interface Pending {
  resolve(give: unknown): void;
  reject(error: unknown): void;
}

class Thread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  isOver = false;

  constructor(entry: URL) {
    this.#worker = new Worker(entry);
    this.#worker.on('message', (reply: TaskReply) => this.#receive(reply));
    this.#worker.on('error', (error) => this.#lose(String(error)));
    this.#worker.on('exit', () => this.#lose('it ended'));
    this.#worker.unref();
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  ask(task: string, take: unknown, given: ArrayBuffer[]): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // Throws if it can't be sent: then there is nothing to wait for.
      this.#worker.postMessage({ id, task, take }, given);
      this.#pending.set(id, { resolve, reject });
      this.#worker.ref();
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #receive(reply: TaskReply): void {
    const pending = this.#pending.get(reply.id)!;
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) this.#worker.unref();
    if (reply.ok) pending.resolve(reply.give);
    else if ('details' in reply) pending.reject(new WarpsmithError(reply.details, reply.exitCode));
    else pending.reject(new Error(reply.mistake));
  }

  #lose(why: string): void {
    this.isOver = true;
    for (const { reject } of this.#pending.values()) reject(new ThreadLost(why));
    this.#pending.clear();
  }
}
