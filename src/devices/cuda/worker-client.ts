import { Tally } from '../../core/device-tally.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { entryFile } from '../../process/entry-file.ts';
import { gpuEnvironment } from '../../process/gpu-environment.ts';
import { startWorkerProcess, type WorkerProcess, WorkerProcessEnded } from '../../process/worker-process.ts';
import type { CommandName, CommandReply, Commands, OpenedGpu } from './worker/protocol.ts';

const ENTRY = entryFile(new URL('./worker/worker-main.ts', import.meta.url));

/** Time limit for commands that run no candidate's code. Only a hung driver takes that long. */
const HOUSEKEEPING_TIMEOUT_MS = 120_000;

/** A running worker, distinguishable from earlier and later ones. */
export interface Generation {
  readonly number: number;
}

/**
 * The worker process of one GPU. If it has ended or lost its context, the next command starts a new one. Everything in the
 * old one is gone; a handle's {@link Generation} shows this.
 */
export class WorkerClient {
  readonly #ordinal: number;
  #process: WorkerProcess | undefined;
  #opening: Promise<OpenedGpu> | undefined;
  #generation: Generation = { number: 0 };
  #isClosed = false;
  /** Messages by their command. */
  readonly tally = new Tally();

  constructor(ordinal: number) {
    this.#ordinal = ordinal;
  }

  /** The worker that gets the next command, if it is running. */
  get generation(): Generation {
    this.#noticeEnd();
    return this.#generation;
  }

  /** The GPU's UUID, read without creating a context. @throws WarpsmithError if there is no such GPU. */
  identify(): Promise<{ uuid: string }> {
    return this.#first(() => this.#send('identify', { ordinal: this.#ordinal }, HOUSEKEEPING_TIMEOUT_MS));
  }

  /** Opens the GPU if it is not open. @throws WarpsmithError if it can't be opened. */
  open(): Promise<OpenedGpu> {
    return this.#first(() => {
      this.#opening ??= this.#send('open', { ordinal: this.#ordinal }, HOUSEKEEPING_TIMEOUT_MS);
      return this.#opening;
    });
  }

  /** Runs the first command of a worker. Starts a worker if there is none, and ends it if the command fails. */
  async #first<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error('the device is closed');
    this.#noticeEnd();
    if (this.#process === undefined) {
      this.#generation = { number: this.#generation.number + 1 };
      this.#process = startWorkerProcess({ entry: ENTRY, environment: gpuEnvironment() });
    }
    const worker = this.#process;
    try {
      return await act();
    } catch (error) {
      await this.#discard(worker);
      throw asUserError(error, 'opening the GPU');
    }
  }

  /**
   * @throws WorkerProcessEnded if the worker ended before it answered; WarpsmithError for problems that the user can solve,
   * or if the driver fails.
   */
  async command<C extends CommandName>(
    command: C,
    take: Commands[C]['take'],
    timeoutMs: number = HOUSEKEEPING_TIMEOUT_MS,
  ): Promise<Commands[C]['give']> {
    await this.open();
    return this.#send(command, take, timeoutMs);
  }

  /** The same for commands that run no candidate's code. If the worker ends, the device has failed. */
  async housekeeping<C extends CommandName>(command: C, take: Commands[C]['take']): Promise<Commands[C]['give']> {
    try {
      return await this.command(command, take);
    } catch (error) {
      throw asUserError(error, command);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#discard(this.#process);
  }

  async #send<C extends CommandName>(
    command: C,
    take: Commands[C]['take'],
    timeoutMs: number,
  ): Promise<Commands[C]['give']> {
    const worker = this.#process!;
    const startMs = performance.now();
    let reply: CommandReply<C>;
    try {
      reply = await worker.request<CommandReply<C>>({ command, take }, { timeoutMs });
    } catch (error) {
      if (error instanceof WorkerProcessEnded) await this.#replace(worker, command);
      throw error;
    } finally {
      this.tally.add(command, performance.now() - startMs);
    }
    if (reply.isLost) await this.#replace(worker, command);
    switch (reply.kind) {
      case 'done':
        return reply.give;
      case 'user-error':
        throw new WarpsmithError(reply.details, reply.exitCode);
      case 'driver-error':
        throw deviceFailed(`The driver failed at ${command}: ${reply.message}.`);
    }
  }

  /** Ends the worker and starts another one that opens the GPU meanwhile. The next command waits for it. */
  async #replace(worker: WorkerProcess, command: CommandName): Promise<void> {
    await this.#discard(worker);
    if (command === 'open' || command === 'identify' || this.#isClosed) return;
    // Whoever needs it next is told why it failed.
    this.open().catch(() => {});
  }

  /** Ends the worker; the next command starts another. */
  async #discard(worker: WorkerProcess | undefined): Promise<void> {
    if (this.#process === worker) this.#forget();
    await worker?.close();
  }

  /** A worker that ended while idle is replaced like any other. */
  #noticeEnd(): void {
    if (this.#process?.isRunning === false) this.#forget();
  }

  #forget(): void {
    this.#process = undefined;
    this.#opening = undefined;
    this.#generation = { number: this.#generation.number + 1 };
  }
}

const deviceFailed = (message: string): WarpsmithError =>
  new WarpsmithError(
    { code: 'device-failed', message, hint: 'nvidia-smi and the kernel log (dmesg) say more.' },
    EXIT.deviceOrToolMissing,
  );

const asUserError = (error: unknown, what: string): unknown =>
  error instanceof WorkerProcessEnded
    ? deviceFailed(`The GPU's worker process ended at ${what}: ${error.message}.`)
    : error;
