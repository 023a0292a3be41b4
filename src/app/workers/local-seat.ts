import type { DeviceIdentity } from '../../core/device.ts';
import type { Evaluation, EvaluationRequest } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { Problem } from '../../core/problem.ts';
import { type Answer, type Job, jobOf, unpack, whole } from '../../evaluation/pool/job.ts';
import type { Seat } from '../../evaluation/pool/local-pool.ts';
import { entryFile } from '../../process/entry-file.ts';
import { minimalEnvironment } from '../../process/minimal-environment.ts';
import { startWorkerProcess, type WorkerProcess } from '../../process/worker-process.ts';
import { hashOfFiles } from './problem-files.ts';
import {
  replyOf,
  type WorkerAnswer,
  type WorkerCommand,
  type WorkerCommands,
  type WorkerDescription,
  type WorkerOptions,
} from './protocol.ts';

const ENTRY = entryFile(new URL('./local-worker.ts', import.meta.url));

/** What a session looks for in the environment. No keys. */
const PASSED_ON = [
  ...['HOME', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'NODE_COMPILE_CACHE'],
  ...['LD_LIBRARY_PATH', 'CUDA_VISIBLE_DEVICES', 'CUDA_HOME', 'CUDA_PATH'],
  ...['WARPSMITH_CACHE', 'WARPSMITH_REPEATS', 'WARPSMITH_LIBCUDA', 'WARPSMITH_NVRTC', 'WARPSMITH_PYTHON'],
];

/** A worker process with a device of its own. It is started again if it ends. */
export class LocalSeat implements Seat {
  readonly #options: WorkerOptions;
  #process: WorkerProcess | undefined;
  #opened: Promise<WorkerDescription> | undefined;
  #description: WorkerDescription | undefined;
  /** Whether the process has opened its device. Before that it would forget what it should compile ahead. */
  #isOpen = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Starts the process and opens its device. @throws WarpsmithError as `openSession`. */
  async open(): Promise<WorkerDescription> {
    if (!this.#process?.isRunning) {
      this.#process = startWorkerProcess({ entry: ENTRY, environment: minimalEnvironment(PASSED_ON) });
      this.#opened = undefined;
      this.#isOpen = false;
    }
    this.#opened ??= this.#ask('open', this.#options);
    this.#description = await this.#opened;
    this.#isOpen = true;
    return this.#description;
  }

  get device(): DeviceIdentity {
    return this.#description!.device;
  }

  async peaks(): Promise<WorkerCommands['peaks']['reply']> {
    return this.#ask('peaks', null);
  }

  async evaluate(request: EvaluationRequest): Promise<Evaluation> {
    const { offers } = await this.open();
    const job = jobOf(request, hashOfFiles(request.problem), offers);
    return unpack(await this.answer(job, request.problem.folder, request.signal), request);
  }

  /** A virtual device uses the cores itself. */
  prepare(candidates: readonly Candidate[], { folder }: Problem): boolean {
    if (this.#description?.device.kind !== 'cuda' || !this.#process?.isRunning || !this.#isOpen) return false;
    this.#ask('prepare', { candidates: candidates.map(whole), folder }).catch(() => {});
    return true;
  }

  /** @param folder where the job's problem lies. @throws WarpsmithError as the worker met it. */
  async answer(job: Job, folder: string, signal?: AbortSignal): Promise<Answer> {
    await this.open();
    return await this.#ask('judge', { job, folder }, signal);
  }

  async close(): Promise<void> {
    await this.#process?.close();
  }

  async #ask<C extends WorkerCommand>(
    command: C,
    message: WorkerCommands[C]['message'],
    signal?: AbortSignal,
  ): Promise<WorkerCommands[C]['reply']> {
    return replyOf(await this.#process!.request<WorkerAnswer<C>>({ command, message }, { signal }));
  }
}
