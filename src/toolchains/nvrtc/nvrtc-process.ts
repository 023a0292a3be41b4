import { entryFile } from '../../process/entry-file.ts';
import { residentBytes } from '../../process/process-group.ts';
import { startWorkerProcess, type WorkerProcess, WorkerProcessEnded } from '../../process/worker-process.ts';
import type { CompileLimits } from '../compile-stage.ts';
import type { NvrtcDescription, NvrtcOutcome, NvrtcProgram } from './protocol.ts';

const ENTRY = entryFile(new URL('./worker.ts', import.meta.url));

const MEMORY_POLL_MS = 50;

/** Memory: what the process holds. */
export type NvrtcLimits = Pick<CompileLimits, 'timeoutMs' | 'maximumMemoryBytes'>;

/** How a compile ended. A crash or a limit costs the process, never this one; the next compile gets a new process. */
export type NvrtcEnd =
  | { end: 'finished'; outcome: NvrtcOutcome }
  | { end: 'timed-out' }
  | { end: 'memory-exceeded' }
  | { end: 'crashed'; how: string };

/** The process that compiles, kept warm between programs; one program at a time. */
export class NvrtcProcess {
  readonly #libraryPath: string;
  readonly #entry: URL;
  #worker: WorkerProcess | undefined;
  #previous: Promise<unknown> = Promise.resolve();

  constructor(libraryPath: string, entry: URL = ENTRY) {
    this.#libraryPath = libraryPath;
    this.#entry = entry;
  }

  /**
   * Loads the library.
   * @throws WorkerProcessEnded when the process dies of it; the library's own error when it can't be loaded.
   */
  describe(timeoutMs: number): Promise<NvrtcDescription> {
    return this.#start().request<NvrtcDescription>({ kind: 'describe' }, { timeoutMs });
  }

  /** @throws the signal's reason when aborted. */
  compile(program: NvrtcProgram, limits: NvrtcLimits, signal: AbortSignal | undefined): Promise<NvrtcEnd> {
    const turn = this.#previous.then(() => {
      signal?.throwIfAborted();
      return this.#compileNow(program, limits, signal);
    });
    this.#previous = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    await this.#worker?.close();
    this.#worker = undefined;
  }

  #start(): WorkerProcess {
    if (!this.#worker?.isRunning) {
      this.#worker = startWorkerProcess({ entry: this.#entry, arguments: [this.#libraryPath] });
    }
    return this.#worker;
  }

  async #compileNow(
    program: NvrtcProgram,
    { timeoutMs, maximumMemoryBytes }: NvrtcLimits,
    signal: AbortSignal | undefined,
  ): Promise<NvrtcEnd> {
    const worker = this.#start();
    let tooLarge = false;
    const poll = setInterval(() => {
      if (worker.pid === undefined || residentBytes(worker.pid) <= maximumMemoryBytes) return;
      tooLarge = true;
      void worker.close();
    }, MEMORY_POLL_MS);
    try {
      const request = { kind: 'compile', ...program };
      return { end: 'finished', outcome: await worker.request<NvrtcOutcome>(request, { timeoutMs, signal }) };
    } catch (error) {
      // For any end of the request: a process that may be ending must not get the next one.
      if (error instanceof WorkerProcessEnded || signal?.aborted) await worker.close();
      signal?.throwIfAborted();
      if (tooLarge) return { end: 'memory-exceeded' };
      if (!(error instanceof WorkerProcessEnded)) throw error;
      if (error.reason === 'timed-out') return { end: 'timed-out' };
      return { end: 'crashed', how: error.signal ?? `exit code ${error.exitCode}` };
    } finally {
      clearInterval(poll);
    }
  }
}
