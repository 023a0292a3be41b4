import { Tally } from '../../core/device-tally.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import type { GpuUse } from '../../core/measuring-device.ts';
import { entryFile } from '../../process/entry-file.ts';
import { gpuEnvironment } from '../../process/gpu-environment.ts';
import { SharedScratch } from '../../process/shared-scratch.ts';
import {
  restoreError,
  startWorkerProcess,
  type WorkerProcess,
  WorkerProcessEnded,
} from '../../process/worker-process.ts';
import type { CommandMessage, CommandName, CommandReply, Commands, OpenedGpu } from './worker/protocol.ts';

const ENTRY = entryFile(new URL('./worker/worker-main.ts', import.meta.url));

/** Time limit for commands that run no candidate's code. Only a hung driver takes that long. */
const HOUSEKEEPING_TIMEOUT_MS = 120_000;

/** A command that waits to be sent, and who waits for it. */
interface Gathered {
  readonly message: CommandMessage;
  readonly worker: WorkerProcess;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** More goes alone: the worker copies it while the next message is packed. */
const MOST_BYTES_TOGETHER = 2 ** 20;

/** A running worker, distinguishable from earlier and later ones. */
export interface Generation {
  readonly number: number;
}

/**
 * The worker process of one GPU. If it has ended or lost its context, the next command starts a new one. Everything in the
 * old one is gone; a handle's {@link Generation} shows this.
 */
export class WorkerClient {
  readonly use: GpuUse;
  readonly #ordinal: number;
  #process: WorkerProcess | undefined;
  #opening: Promise<OpenedGpu> | undefined;
  #generation: Generation = { number: 0 };
  #isClosed = false;
  /** What the next message will ask for. */
  readonly #gathered: Gathered[] = [];
  /** Messages by their command. */
  readonly tally = new Tally();
  /** What went together in messages, by command. */
  readonly together = new Tally();

  /** Shared with every worker, one after the other. */
  readonly scratch = SharedScratch.open();

  /** @param use shared with all workers of the GPU. */
  constructor(ordinal: number, use: GpuUse) {
    this.#ordinal = ordinal;
    this.use = use;
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
  #first<T>(act: () => Promise<T>): Promise<T> {
    return this.use.beside(() => this.#firstNow(act));
  }

  async #firstNow<T>(act: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error('the device is closed');
    this.#noticeEnd();
    if (this.#process === undefined) {
      this.#generation = { number: this.#generation.number + 1 };
      this.#process = startWorkerProcess({
        ...{ entry: ENTRY, environment: gpuEnvironment() },
        inherited: this.scratch?.descriptor,
      });
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
  command<C extends CommandName>(
    command: C,
    take: Commands[C]['take'],
    timeoutMs: number = HOUSEKEEPING_TIMEOUT_MS,
  ): Promise<Commands[C]['give']> {
    return this.use.beside(async () => {
      await this.open();
      this.#sendGathered();
      return this.#send(command, take, timeoutMs);
    });
  }

  /**
   * The same for commands that run no candidate's code. If the worker ends, the device has failed. Those that are asked for at once go
   * together in one message, before whatever is asked for after them.
   */
  housekeeping<C extends CommandName>(command: C, take: Commands[C]['take']): Promise<Commands[C]['give']> {
    return this.use.beside(async () => {
      try {
        await this.open();
        return (await this.#gather({ command, take } as CommandMessage)) as Commands[C]['give'];
      } catch (error) {
        throw asUserError(error, command);
      }
    });
  }

  #gather(message: CommandMessage): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#gathered.push({ message, worker: this.#process!, resolve, reject });
    // When nothing more is asked for without waiting for an answer.
    if (this.#gathered.length === 1) process.nextTick(() => this.#sendGathered());
    return promise;
  }

  #sendGathered(): void {
    for (const group of groupsOf(this.#gathered.splice(0))) void this.#sendGroup(group);
  }

  /** Never rejects. */
  async #sendGroup(group: readonly Gathered[]): Promise<void> {
    const [{ message, worker, resolve, reject }] = group as [Gathered];
    const { command, take } = message;
    if (group.length === 1) return this.#sendTo(worker, command, take, HOUSEKEEPING_TIMEOUT_MS).then(resolve, reject);
    const startMs = performance.now();
    try {
      const messages = group.map((one) => one.message);
      const replies = await this.#sendTo(worker, 'together', { messages }, HOUSEKEEPING_TIMEOUT_MS);
      for (const [i, one] of group.entries()) {
        this.together.add(one.message.command, performance.now() - startMs);
        try {
          one.resolve(givenIn(replies[i]!, one.message.command));
        } catch (error) {
          one.reject(error);
        }
      }
    } catch (error) {
      for (const one of group) one.reject(error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#discard(this.#process);
    this.scratch?.close();
  }

  #send<C extends CommandName>(command: C, take: Commands[C]['take'], timeoutMs: number): Promise<Commands[C]['give']> {
    return this.#sendTo(this.#process!, command, take, timeoutMs);
  }

  async #sendTo<C extends CommandName>(
    worker: WorkerProcess,
    command: C,
    take: Commands[C]['take'],
    timeoutMs: number,
  ): Promise<Commands[C]['give']> {
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
    return givenIn(reply, command);
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

/** What a reply gives. @throws what it says instead. */
function givenIn<C extends CommandName>(reply: CommandReply<C>, command: CommandName): Commands[C]['give'] {
  switch (reply.kind) {
    case 'done':
      return reply.give;
    case 'user-error':
      throw new WarpsmithError(reply.details, reply.exitCode);
    case 'driver-error':
      throw deviceFailed(`The driver failed at ${command}: ${reply.message}.`);
    case 'failed':
      throw restoreError(reply.error);
  }
}

/** In their order: those of one worker, as long as they are few bytes. */
function groupsOf(gathered: readonly Gathered[]): Gathered[][] {
  const groups: Gathered[][] = [];
  let bytes = 0;
  for (const one of gathered) {
    const own = bytesMoved(one.message);
    const group = groups.at(-1);
    if (group && group[0]!.worker === one.worker && bytes + own <= MOST_BYTES_TOGETHER) {
      group.push(one);
      bytes += own;
    } else {
      groups.push([one]);
      bytes = own;
    }
  }
  return groups;
}

/** Of buffers, there or back. */
function bytesMoved(message: CommandMessage): number {
  if (message.command === 'write') return message.take.writes.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (message.command === 'read') return message.take.ranges.reduce((sum, { bytes }) => sum + bytes, 0);
  return 0;
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
