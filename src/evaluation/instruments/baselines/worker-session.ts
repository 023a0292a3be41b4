import type { GpuUse } from '../../../core/measuring-device.ts';
import { LineProcess, type LineProcessEnd } from '../../../process/line-process.ts';
import { packageFolder } from '../../../process/package-folder.ts';
import type { ContenderFailure } from '../../measure/contender.ts';
import { STATUS_OF_KIND, type WorkerErrorKind } from './messages.ts';
import { pythonEnvironment } from './python-environment.ts';

export interface SessionOptions {
  readonly python: string;
  /** Absolute path of baseline.py. */
  readonly baselineFile: string;
  /** The only GPU the worker sees. */
  readonly gpuUuid?: string | undefined;
  /** A Python file with another backend than PyTorch's; for tests. */
  readonly backendFile?: string | undefined;
  readonly limits: SessionLimits;
  /** What else uses the GPU. */
  readonly use: GpuUse;
}

/** Wall-clock limits in ms. */
export interface SessionLimits {
  /** Importing PyTorch from a cold disk, and starting CUDA. */
  readonly startMs: number;
  /** Anything else: cuDNN makes plans, large slots are filled. */
  readonly requestMs: number;
}

export const DEFAULT_LIMITS: SessionLimits = { startMs: 180_000, requestMs: 120_000 };

export interface SessionRequest {
  readonly command: string;
  readonly payloads?: readonly Uint8Array[];
  readonly [field: string]: unknown;
}

export interface SessionAnswer {
  readonly ok: true;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly payloads: readonly Uint8Array[];
  /** The process of the session that answered. Handles of another process are invalid. */
  readonly generation: number;
}

export interface SessionFailure extends ContenderFailure {
  readonly kind: WorkerErrorKind | LineProcessEnd['reason'];
}

/** How often the process is started again after a hang or crash. */
const MOST_RESTARTS = 1;

/**
 * Requests to the Python worker, and its answers. Starts the process, also again after a crash or hang. Failures are
 * values.
 */
export class WorkerSession {
  readonly #options: SessionOptions;
  #process: LineProcess | undefined;
  /** Counts processes, from 1. */
  #generation = 0;
  #isClosed = false;
  #lastFailure: SessionFailure | undefined;
  #previous: Promise<unknown> = Promise.resolve();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Of the process that runs now. */
  get processId(): number | undefined {
    return this.#process?.isRunning ? this.#process.pid : undefined;
  }

  /** Asks one thing after the other; starts the process first where there is none. */
  request(request: SessionRequest): Promise<SessionAnswer | SessionFailure> {
    const outcome = this.#previous.then(() => this.#options.use.beside(() => this.#request(request)));
    this.#previous = outcome;
    return outcome;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process?.close();
  }

  async #request(request: SessionRequest): Promise<SessionAnswer | SessionFailure> {
    const trouble = await this.#ensureProcess();
    return trouble ?? this.#ask(request, this.#options.limits.requestMs);
  }

  async #ensureProcess(): Promise<SessionFailure | undefined> {
    if (this.#process?.isRunning) return undefined;
    if (this.#isClosed) return { ok: false, kind: 'closed', status: 'device-failed', reason: 'the worker was closed' };
    if (this.#generation > MOST_RESTARTS) return this.#lastFailure;
    this.#generation += 1;
    const { python, gpuUuid, backendFile, baselineFile, limits } = this.#options;
    this.#process = new LineProcess({
      command: python,
      args: ['-m', 'warpsmith_worker', ...(backendFile === undefined ? [] : ['--backend', backendFile])],
      cwd: packageFolder('python'), // `-m` looks for modules there first.
      env: pythonEnvironment(gpuUuid),
    });
    for (const request of [{ command: 'hello' }, { command: 'load', file: baselineFile }]) {
      const answer = await this.#ask(request, limits.startMs);
      if (!answer.ok) {
        await this.#process.close();
        this.#lastFailure = answer;
        return answer;
      }
    }
    return undefined;
  }

  async #ask(request: SessionRequest, timeoutMs: number): Promise<SessionAnswer | SessionFailure> {
    const { payloads = [], ...header } = request;
    const outcome = await this.#process!.exchange({ header, payloads }, { timeoutMs });
    if (!outcome.ok) {
      this.#lastFailure = failureOfEnd(outcome.end, request.command);
      return this.#lastFailure;
    }
    const { header: fields, payloads: received } = outcome.message;
    if (fields.ok === true) return { ok: true, fields, payloads: received, generation: this.#generation };
    const failure = failureOfAnswer(fields);
    if (failure.kind === 'gpu-error') {
      // After most CUDA errors a context is of no more use.
      this.#lastFailure = failure;
      await this.#process!.close();
    }
    return failure;
  }
}

function failureOfAnswer({ kind, message }: Readonly<Record<string, unknown>>): SessionFailure {
  const known = typeof kind === 'string' && kind in STATUS_OF_KIND ? (kind as WorkerErrorKind) : 'worker-error';
  return { ok: false, kind: known, status: STATUS_OF_KIND[known], reason: String(message) };
}

function failureOfEnd({ reason, description, stderr }: LineProcessEnd, command: string): SessionFailure {
  const lastLines = stderr.split('\n').slice(-MOST_STDERR_LINES).join('\n');
  const said = lastLines === '' ? '' : `; it last wrote: ${lastLines}`;
  return {
    ok: false,
    kind: reason,
    status: reason === 'timed-out' ? 'timed-out' : 'crashed',
    reason: `the Python worker, asked to ${command}: ${description}${said}`,
  };
}

const MOST_STDERR_LINES = 5;
