import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { CompiledCode } from '../../../core/compiled-code.ts';
import { EXIT, WarpsmithError } from '../../../core/errors.ts';
import type { BaselineMeasurement } from '../../../core/evaluation.ts';
import type { LaunchPlan, PlannedBuffer } from '../../../core/launch-plan.ts';
import { type GpuUse, UNSHARED } from '../../../core/measuring-device.ts';
import { rememberedAt } from '../../../core/once-for.ts';
import { expandBuffers } from '../../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem, Workload } from '../../../core/problem.ts';
import { valuesKey } from '../../../core/values.ts';
import { findPython } from '../../../process/find-python.ts';
import type { Contender, ContenderFailure } from '../../measure/contender.ts';
import { timedPlan } from '../../measure/timed-plan.ts';
import type { ExpectationCache } from '../../oracle/expectation-cache.ts';
import { LibraryContender, type LibrarySubject, prepareBaseline, ruleOf } from './library-contender.ts';
import { type BaselineListing, bufferMessage, type Versions } from './messages.ts';
import { PYTHON_FOR_BASELINES } from './python-environment.ts';
import {
  DEFAULT_LIMITS,
  type SessionLimits,
  type SessionOptions,
  type SessionRequest,
  WorkerSession,
} from './worker-session.ts';

export interface BaselineWorkerRequest {
  readonly problem: Problem;
  /** Where baselines get what their outputs must be. */
  readonly oracle: ExpectationCache;
  /** The GPU on which candidates are measured; the worker sees no other. */
  readonly gpu?: { readonly uuid: string | undefined; readonly use: GpuUse };
  /** Path or name; `WARPSMITH_PYTHON` or `python3` when absent. */
  readonly python?: string;
  readonly limits?: Partial<SessionLimits>;
  /** A Python file with another backend than PyTorch's; for tests. */
  readonly backendFile?: string;
}

/** A library call that is ready for timing, and its description. */
export interface PreparedLibrary {
  readonly ok: true;
  readonly contender: Contender;
  describe(): Promise<Pick<BaselineMeasurement, 'versions' | 'gpuKernels'>>;
}

/** A kernel as it is loaded on this GPU. */
export interface CompiledKernel {
  readonly name: string;
  readonly code: CompiledCode;
  readonly plan: LaunchPlan;
}

/**
 * The long-lived Python process that measures a problem's library baselines. After a hang or a crash it is started again
 * once.
 */
export class BaselineWorker {
  /** Versions of Python, PyTorch, CUDA and cuDNN, and the GPU's name. */
  readonly versions: Versions;
  readonly #request: BaselineWorkerRequest;
  readonly #session: WorkerSession;
  readonly #sessionOptions: SessionOptions;
  /** Names kernels; started when first asked. */
  #profiler: WorkerSession | undefined;
  readonly #prepared = new Map<string, PreparedLibrary | ContenderFailure>();
  readonly #kernelNames = new Map<string, Promise<string[] | undefined>>();

  private constructor(
    request: BaselineWorkerRequest,
    options: SessionOptions,
    session: WorkerSession,
    versions: Versions,
  ) {
    this.#request = request;
    this.#sessionOptions = options;
    this.#session = session;
    this.versions = versions;
  }

  /** @throws WarpsmithError when Python, PyTorch, the GPU or baseline.py is missing, saying which. */
  static async start(request: BaselineWorkerRequest): Promise<BaselineWorker> {
    const baselineFile = resolve(request.problem.folder, 'baseline.py');
    if (!existsSync(baselineFile)) throw noBaselines(request.problem, baselineFile);
    request.problem.requireTrusted?.();
    const options: SessionOptions = {
      python: findPython(PYTHON_FOR_BASELINES, request.python),
      baselineFile,
      gpuUuid: request.gpu?.uuid,
      use: request.gpu?.use ?? UNSHARED,
      backendFile: request.backendFile,
      limits: { ...DEFAULT_LIMITS, ...request.limits },
    };
    const session = new WorkerSession(options);
    const answer = await session.request({ command: 'hello' });
    const versions = answer.ok ? (answer.fields.versions as Versions) : undefined;
    const trouble = answer.ok ? otherGpu(request, versions!) : answer.reason;
    if (trouble === undefined) return new BaselineWorker(request, options, session, versions!);
    await session.close();
    throw unavailable(options.python, trouble);
  }

  /** Process ids on the GPU that are ours. */
  get processIds(): number[] {
    return [this.#session.processId, this.#profiler?.processId].filter((id) => id !== undefined);
  }

  /** What baseline.py offers for these dimensions. */
  async list(dimensions: Dimensions): Promise<{ ok: true; baselines: BaselineListing[] } | ContenderFailure> {
    const answer = await this.#session.request({ command: 'list', dimensions });
    if (!answer.ok) return { ok: false, status: answer.status, reason: answer.reason };
    return { ok: true, baselines: answer.fields.baselines as BaselineListing[] };
  }

  /**
   * A baseline by name, after comparing its outputs with the oracle on the workload; or why it is unavailable. The answer
   * is cached: later seeds change nothing.
   *
   * @param seed of the inputs on which it is checked. With a candidate's seed these are drawn already.
   */
  contender(name: string, workload: Workload, seed: number): Promise<PreparedLibrary | ContenderFailure> {
    const buffers = expandBuffers(this.#request.problem.file, workload.dimensions);
    const subject = { ...this.#subject(workload, buffers), seed };
    return this.#prepare({ ...subject, name, prepare: prepareBaseline(name, subject) });
  }

  /** Compiled code that this process launches instead of a device. A test compares the times of both. */
  kernelContender(
    kernel: CompiledKernel,
    workload: Workload,
    seed: number,
  ): Promise<PreparedLibrary | ContenderFailure> {
    const plan = timedPlan(kernel.plan);
    const subject = { ...this.#subject(workload, plan.buffers), seed };
    return this.#prepare({ ...subject, name: kernel.name, prepare: prepareKernel(kernel, plan, subject) });
  }

  /** Ends the processes. */
  async close(): Promise<void> {
    await Promise.all([this.#session.close(), this.#profiler?.close()]);
  }

  #subject(workload: Workload, buffers: readonly PlannedBuffer[]): Omit<LibrarySubject, 'name' | 'prepare' | 'seed'> {
    const { problem, oracle } = this.#request;
    return { session: this.#session, problem, workload, oracle, buffers };
  }

  /** A baseline that is unavailable, hangs or crashes is not tried again. */
  async #prepare(subject: LibrarySubject): Promise<PreparedLibrary | ContenderFailure> {
    const key = keyOf(subject);
    const prepared = this.#prepared.get(key) ?? (await this.#prepareNew(subject));
    this.#prepared.set(key, prepared);
    return prepared;
  }

  async #prepareNew(subject: LibrarySubject): Promise<PreparedLibrary | ContenderFailure> {
    const contender = new LibraryContender(subject);
    const outcome = await contender.prepare();
    if (!outcome.ok) return outcome;
    const describe = async () => {
      const gpuKernels = await this.#kernelNamesOf(subject);
      return { versions: this.versions, gpuKernels };
    };
    return { ok: true, contender, describe };
  }

  /** Asked once for each baseline and workload. */
  #kernelNamesOf(subject: LibrarySubject): Promise<string[] | undefined> {
    return rememberedAt(this.#kernelNames, keyOf(subject), () => this.#profile(subject));
  }

  /** In a process of its own, because the traces of a profiler must not affect times. */
  async #profile({ prepare }: LibrarySubject): Promise<string[] | undefined> {
    this.#profiler ??= new WorkerSession(this.#sessionOptions);
    const prepared = await this.#profiler.request(prepare);
    if (!prepared.ok) return undefined;
    const named = await this.#profiler.request({ command: 'kernelNames', subject: prepared.fields.handle });
    return named.ok ? (named.fields.names as string[]) : undefined;
  }
}

const keyOf = ({ name, prepare, workload }: LibrarySubject): string =>
  JSON.stringify([prepare.command, name, valuesKey(workload.dimensions)]);

const prepareKernel = (
  { code }: CompiledKernel,
  plan: LaunchPlan,
  { workload }: Pick<LibrarySubject, 'workload'>,
): SessionRequest => ({
  command: 'prepareKernel',
  buffers: plan.buffers.map((buffer) => bufferMessage(buffer, ruleOf(buffer, workload))),
  plan: {
    buffers: plan.buffers.map(({ name, bytes }) => ({ name, bytes })),
    steps: plan.steps.map((step) =>
      step.kind === 'launch' ? { ...step, functionName: code.functionSymbols[step.functionName] } : step,
    ),
  },
  // The driver takes PTX as text that ends with a zero.
  payloads: [code.kind === 'cubin' ? Buffer.from(code.text, 'base64') : Buffer.from(`${code.text}\0`, 'utf8')],
});

/** Whether the worker sees another GPU than the one on which candidates are measured; false if either is unknown. */
const otherGpu = ({ gpu }: BaselineWorkerRequest, { gpuUuid }: Versions): string | undefined =>
  gpu?.uuid === undefined || gpuUuid === undefined || digitsOf(gpuUuid) === digitsOf(gpu.uuid)
    ? undefined
    : `PyTorch runs on ${gpuUuid}, candidates are measured on ${gpu.uuid}`;

/** The 32 hexadecimal digits of a UUID in any notation. */
const digitsOf = (uuid: string): string =>
  uuid
    .toLowerCase()
    .replace(/^gpu-/, '')
    .replaceAll(/[^0-9a-f]/g, '');

const noBaselines = (problem: Problem, file: string): WarpsmithError =>
  new WarpsmithError({
    code: 'no-baselines',
    message: `Problem ${problem.file.name} has no library baselines.`,
    file,
    expected: 'a baseline.py beside problem.json',
    hint: 'docs/guides/baselines.md says how to write one.',
  });

const unavailable = (python: string, reason: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'baselines-unavailable',
      message: `Library baselines can't be measured: ${reason}`,
      received: python,
      expected: 'Python 3.9 or later with PyTorch for CUDA',
      hint: 'Install PyTorch into this Python, or name another with WARPSMITH_PYTHON. Everything else works without it.',
    },
    EXIT.deviceOrToolMissing,
  );
