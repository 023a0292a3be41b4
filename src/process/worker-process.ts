import { fileURLToPath } from 'node:url';
import { type ChildEnd, LongLivedChild } from './long-lived-child.ts';
import { minimalEnvironment } from './minimal-environment.ts';
import type { WorkerFailure, WorkerMessage, WorkerReply } from './serve-worker.ts';

export interface WorkerProcessOptions {
  /** The module the child runs; it calls {@link serveWorker}. */
  readonly entry: URL;
  readonly arguments?: readonly string[];
  /** Added to {@link minimalEnvironment}. */
  readonly environment?: Readonly<Record<string, string>>;
  /** An open file that the child has as {@link INHERITED_DESCRIPTOR}. */
  readonly inherited?: number | undefined;
}

/** Behind stdin, stdout, stderr and the channel of messages. */
export const INHERITED_DESCRIPTOR = 4;

export interface WorkerRequestOptions {
  /** Wall-clock limit; when it passes, the child's whole group is killed. None when absent. */
  readonly timeoutMs?: number;
  /** Aborting kills the child's group, because its work can't be interrupted otherwise. */
  readonly signal?: AbortSignal | undefined;
  /** The child can interrupt its work: it is killed only if it has not done so this long after the abortion, ms. */
  readonly patienceMs?: number;
}

/** How a worker process ended. */
export interface WorkerEnd {
  readonly reason: 'timed-out' | 'exited' | 'signaled';
  readonly exitCode?: number;
  readonly signal?: string;
  /** The last lines it wrote. */
  readonly stderr: string;
}

/** A request met no answer because the process is gone. */
export class WorkerProcessEnded extends Error implements WorkerEnd {
  readonly reason: WorkerEnd['reason'];
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stderr: string;

  constructor(end: WorkerEnd) {
    super(describeEnd(end));
    this.name = 'WorkerProcessEnded';
    this.reason = end.reason;
    this.stderr = end.stderr;
    if (end.exitCode !== undefined) this.exitCode = end.exitCode;
    if (end.signal !== undefined) this.signal = end.signal;
  }
}

function describeEnd({ reason, exitCode, signal, stderr }: WorkerEnd): string {
  const how = {
    'timed-out': 'the worker process was ended at its time limit',
    exited: `the worker process ended with exit code ${exitCode}`,
    signaled: `the worker process was ended by ${signal}`,
  }[reason];
  return stderr.trim() === '' ? how : `${how}: ${stderr.trim()}`;
}

interface Pending {
  settle(): void;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A {@link LongLivedChild} that runs a module of ours and answers requests. */
export class WorkerProcess {
  readonly #child: LongLivedChild;
  readonly #pending = new Map<number, Pending>();
  /** Timers of requests that the child may still be busy with. */
  readonly #unwanted = new Map<number, NodeJS.Timeout>();
  /** Requests made before the child was listening. */
  #waiting: WorkerMessage[] | undefined = [];
  #nextId = 1;
  #end: WorkerEnd | undefined;
  /** Why we killed it, if we did. */
  #limit: 'timed-out' | undefined;

  constructor(options: WorkerProcessOptions) {
    const args = [fileURLToPath(options.entry), ...(options.arguments ?? [])];
    const spawning = {
      env: { ...minimalEnvironment(), ...options.environment },
      // What a kernel prints goes to stdout: nothing of ours.
      stdio: [
        ...(['ignore', 'ignore', 'pipe', 'ipc'] as const),
        ...(options.inherited === undefined ? [] : [options.inherited]),
      ],
      serialization: 'advanced' as const, // Structured clone: byte arrays travel as bytes.
    };
    this.#child = new LongLivedChild(process.execPath, args, spawning, (end) => this.#finish(end));
    this.#child.child.on('message', (message) => this.#receive(message as WorkerReply));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends a message and waits for the result of the child's handler. */
  request<T>(message: unknown, options: WorkerRequestOptions = {}): Promise<T> {
    if (this.#end) return Promise.reject(new WorkerProcessEnded(this.#end));
    const { timeoutMs, signal, patienceMs } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.#nextId++;
    return new Promise<T>((resolve, reject) => {
      const onAbort = () => {
        this.#pending.get(id)?.reject(signal?.reason);
        if (patienceMs === undefined) this.#child.kill();
        else this.#giveUp(id, patienceMs);
      };
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => {
              this.#limit = 'timed-out';
              this.#child.kill();
            }, timeoutMs);
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#pending.delete(id);
        if (this.#pending.size === 0) this.#child.keepAlive(false);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#pending.set(id, {
        settle,
        resolve: (value) => resolve(value as T),
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.#child.keepAlive(true);
      this.#send({ id, message });
    });
  }

  /** Whether it still answers. */
  get isRunning(): boolean {
    return this.#end === undefined;
  }

  /** Kills the process group and waits until it is gone. Requests in flight are rejected. */
  close(): Promise<void> {
    return this.#child.close();
  }

  /** Tells the child that nobody waits for an answer, and kills it if it goes on all the same. */
  #giveUp(id: number, patienceMs: number): void {
    this.#send({ id, isUnwanted: true });
    this.#unwanted.set(id, setTimeout(() => this.#child.kill(), patienceMs).unref());
  }

  #send(message: WorkerMessage): void {
    if (this.#waiting) this.#waiting.push(message);
    // A child that is going down answers by its end.
    else if (this.#child.child.connected) this.#child.child.send(message, () => {});
  }

  #receive(reply: WorkerReply): void {
    if (reply.kind === 'ready') {
      const waiting = this.#waiting ?? [];
      this.#waiting = undefined;
      for (const message of waiting) this.#send(message);
      return;
    }
    clearTimeout(this.#unwanted.get(reply.id));
    this.#unwanted.delete(reply.id);
    const pending = this.#pending.get(reply.id);
    if (!pending) return;
    if (reply.kind === 'failed') pending.reject(restoreError(reply.error));
    else {
      pending.settle();
      pending.resolve(reply.value);
    }
  }

  #finish(end: ChildEnd): void {
    this.#end = endOf(end, this.#limit);
    for (const timer of this.#unwanted.values()) clearTimeout(timer);
    for (const pending of [...this.#pending.values()]) pending.reject(new WorkerProcessEnded(this.#end));
  }
}

function endOf({ error, exitCode, signal, stderr }: ChildEnd, limit: WorkerEnd['reason'] | undefined): WorkerEnd {
  if (error) return { reason: 'exited', exitCode: -1, stderr: error.message };
  if (limit) return { reason: limit, stderr };
  if (signal !== null) return { reason: 'signaled', signal, stderr };
  return { reason: 'exited', exitCode: exitCode ?? 0, stderr };
}

/** Starts a worker process. It fails, if it does, at the first request. */
export const startWorkerProcess = (options: WorkerProcessOptions): WorkerProcess => new WorkerProcess(options);

/** The exception that travelled. */
export function restoreError({ name, message, code, stack }: WorkerFailure): Error {
  const error = new Error(message);
  error.name = name;
  if (code !== undefined) (error as NodeJS.ErrnoException).code = code;
  if (stack !== undefined) error.stack = stack;
  return error;
}
