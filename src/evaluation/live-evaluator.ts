import type { CompileOutcome } from '../core/compiled-code.ts';
import type { ArgumentMismatch, Device, LoadedModule } from '../core/device.ts';
import { type ErrorDetails, WarpsmithError } from '../core/errors.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../core/evaluation.ts';
import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { Kernel } from '../core/kernel.ts';
import type { LaunchPlan } from '../core/launch-plan.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { completeParameters, failedConstraint } from '../core/plan/parameters.ts';
import type { Dimensions } from '../core/problem.ts';
import type { Timing } from '../core/timing.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import { attainableBoundNs, type ProblemWork, vetoBoundNs } from '../hardware/bounds.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import { hasHalfPrecisionMatrixWork } from './half-precision-matrix-work.ts';
import { createOracle, type Oracle } from './oracle.ts';
import { planLaunches } from './plan-launches.ts';
import { planRefusal } from './plan-refusal.ts';
import type { Refused } from './refusal.ts';
import { sumCounters } from './sum-counters.ts';
import { type Verified, verify } from './verify.ts';

export interface LiveEvaluatorOptions {
  readonly device: Device;
  readonly toolchain: Toolchain;
  /** Shared between evaluators of one process to save reference runs; its own when absent. */
  readonly oracle?: Oracle;
  /** Wall-clock limit of one run of a launch sequence, in ms. By default 20,000, and more for large workloads. */
  readonly runTimeoutMs?: number;
  /** Warp instructions one CTA may execute; the device's own limit when absent. */
  readonly instructionsPerCta?: number;
}

const LEAST_RUN_TIMEOUT_MS = 20_000;

/** Slower than this, in FLOP of the problem per second, no kernel that makes progress runs even on a virtual GPU. */
const LEAST_FLOP_PER_SECOND = 50e6;

/**
 * Judges candidates on a device, one at a time: limits and constraints, compile, load, verify (the counted run included),
 * predict, diagnose. The device and the toolchain stay the caller's; `close` does not close them.
 */
export const createLiveEvaluator = (options: LiveEvaluatorOptions): Evaluator => {
  const oracle = options.oracle ?? createOracle();
  let queue: Promise<unknown> = Promise.resolve();
  return {
    evaluate(request) {
      const evaluation = queue.then(() => new LiveEvaluation(options, oracle, request).run());
      queue = evaluation.catch(() => undefined);
      return evaluation;
    },
    close: async () => {
      await queue;
    },
  };
};

type Outcome = Pick<Evaluation, 'status'> & Partial<Evaluation>;

/** One candidate on its way through the stages. */
class LiveEvaluation {
  readonly #options: LiveEvaluatorOptions;
  readonly #oracle: Oracle;
  readonly #request: EvaluationRequest;
  readonly #elapsedMs = { compile: 0, verify: 0, time: 0, total: 0 };

  constructor(options: LiveEvaluatorOptions, oracle: Oracle, request: EvaluationRequest) {
    this.#options = options;
    this.#oracle = oracle;
    this.#request = request;
  }

  async run(): Promise<Evaluation> {
    const startMs = performance.now();
    this.#request.signal?.throwIfAborted();
    const { id = 'e0', candidate, workload } = this.#request;
    const outcome = await this.#judge();
    this.#elapsedMs.total = performance.now() - startMs;
    return {
      schemaVersion: 1,
      id,
      candidate: {
        id: candidate.id,
        kernel: candidate.kernel.file.name,
        folder: candidate.kernel.folder,
        parameters: candidate.parameters,
      },
      device: this.#options.device.identity,
      workload: { name: workload.name, dimensions: workload.dimensions },
      findings: [],
      ...outcome,
      elapsedMs: this.#elapsedMs,
    };
  }

  async #judge(): Promise<Outcome> {
    const { kernel } = this.#request.candidate;
    const misfit = this.#misfit();
    if (misfit) return misfit;
    const compiled = await this.#timed('compile', () => this.#compile());
    if (!compiled.ok) return compileRefusal(compiled);
    const loaded = await this.#timed('compile', () => this.#options.device.load(compiled.code));
    const diagnostics = compiled.code.diagnostics.length > 0 && { diagnostics: [...compiled.code.diagnostics] };
    if (!loaded.ok) return { ...refusalOutcome(kernel, { ...loaded, reason: loaded.message }), ...diagnostics };
    try {
      const verified = await this.#timed('verify', () => this.#verify(loaded.module));
      const outcome = verified.ok
        ? await this.#timed('time', async () => this.#time(verified))
        : refusalOutcome(kernel, verified);
      return { ...outcome, ...diagnostics };
    } finally {
      await this.#options.device.unload(loaded.module);
    }
  }

  /** What can be told before compiling: the kernel does not take this workload, or these parameters. */
  #misfit(): Outcome | undefined {
    const { device } = this.#options;
    const { candidate, workload } = this.#request;
    const { file } = candidate.kernel;
    const { architectures } = file.source;
    const refuse = (status: 'invalid' | 'unsupported', reason: string): Outcome => ({ status, reason });
    try {
      const limit = failedLimit(file, workload.dimensions);
      if (limit !== undefined) return refuse('unsupported', `${file.name} does not take this workload: ${limit}`);
      if (architectures && !architectures.includes(device.spec.architecture)) {
        const names = architectures.join(', ');
        return refuse(
          'unsupported',
          `${file.name} is for ${names}; ${device.identity.id} is ${device.spec.architecture}`,
        );
      }
      completeParameters(file, candidate.parameters);
      const constraint = failedConstraint(file, candidate.parameters, workload.dimensions);
      if (constraint !== undefined) return refuse('invalid', `constraint not met: ${constraint}`);
      this.#planFor(workload.dimensions);
      return undefined;
    } catch (error) {
      if (error instanceof WarpsmithError) return planRefusal(error);
      throw error;
    }
  }

  #compile(): Promise<CompileOutcome> {
    const { device, toolchain } = this.#options;
    const { candidate, signal } = this.#request;
    return toolchain.compile({ candidate, architecture: device.spec.architecture, ...(signal && { signal }) });
  }

  #planFor(dimensions: Dimensions, module?: LoadedModule): LaunchPlan {
    const { problem, candidate } = this.#request;
    const { spec } = this.#options.device;
    return planLaunches({ problem, candidate, dimensions, spec, ...(module && { module }) });
  }

  #verify(module: LoadedModule): Promise<Verified | Refused> {
    const { device, instructionsPerCta } = this.#options;
    const { problem, candidate, workload, seed, signal } = this.#request;
    return verify({
      device,
      module,
      problem,
      candidate,
      dimensions: workload.dimensions,
      seed,
      oracle: this.#oracle,
      planFor: (dimensions) => this.#planFor(dimensions, module),
      timeoutMs: this.#options.runTimeoutMs ?? defaultRunTimeoutMs(this.#work()),
      ...(instructionsPerCta !== undefined && { instructionsPerCta }),
      ...(signal && { signal }),
    });
  }

  #time({ correctness, plan, counters: launches }: Verified): Outcome {
    const { device } = this.#options;
    const { problem, workload } = this.#request;
    const work = this.#work();
    const timing = device.predict(launches, plan, {
      vetoNs: vetoBoundNs(work, device.spec).ns,
      attainableNs: attainableBoundNs(work, device.spec).ns,
    });
    const counters = sumCounters(launches);
    const evidence = { timing, correctness, counters };
    const implausible = implausibility(timing, vetoBoundNs(work, device.spec).arithmetic);
    if (implausible) return { status: 'implausible', reason: implausible, ...evidence };
    const halfPrecisionMatrixWork = hasHalfPrecisionMatrixWork(problem.file, workload.dimensions);
    return {
      status: 'passed',
      ...evidence,
      findings: diagnose({ counters, timing, spec: device.spec, halfPrecisionMatrixWork }),
    };
  }

  #work(): ProblemWork {
    const { file } = this.#request.problem;
    const { dimensions, cache } = this.#request.workload;
    return {
      flop: evaluateExpression(file.flop, dimensions),
      minimumFlop: evaluateExpression(file.minimumFlop, dimensions),
      minimumReadBytes: evaluateExpression(file.minimumReadBytes, dimensions),
      comparison: file.comparison,
      cache,
    };
  }

  async #timed<T>(phase: 'compile' | 'verify' | 'time', work: () => Promise<T>): Promise<T> {
    this.#request.signal?.throwIfAborted();
    const startMs = performance.now();
    try {
      return await work();
    } finally {
      this.#elapsedMs[phase] += performance.now() - startMs;
    }
  }
}

const defaultRunTimeoutMs = ({ flop }: ProblemWork): number =>
  Math.max(LEAST_RUN_TIMEOUT_MS, (flop / LEAST_FLOP_PER_SECOND) * 1000);

const compileRefusal = (outcome: Extract<CompileOutcome, { ok: false }>): Outcome => ({
  status: outcome.status,
  reason: outcome.message,
  ...(outcome.diagnostics.length > 0 && { diagnostics: [...outcome.diagnostics] }),
});

const refusalOutcome = (
  kernel: Kernel,
  { status, reason, failedCheck, fault, mismatch, correctness }: Refused,
): Outcome => ({
  status,
  reason,
  ...(failedCheck !== undefined && { failedCheck }),
  ...(fault && { fault }),
  ...(mismatch && { error: mismatchError(kernel, mismatch, reason) }),
  ...(correctness && { correctness }),
});

/** Arguments that do not fit the compiled function are a mistake in kernel.json, at this place. */
const mismatchError = (kernel: Kernel, mismatch: ArgumentMismatch, message: string): ErrorDetails => {
  const { functionName, argumentIndex, received, expected } = mismatch;
  const step = kernel.file.steps.findIndex((declared) => 'function' in declared && declared.function === functionName);
  return {
    code: 'argument-mismatch',
    message,
    file: `${kernel.folder}/kernel.json`,
    path: `steps[${step}].arguments${argumentIndex === undefined ? '' : `[${argumentIndex}]`}`,
    received,
    expected,
    hint: `Make the step's arguments match the parameters of ${functionName}, in order and in dtype.`,
  };
};

/** No time may lie below what minimum work on the fastest pipe takes. */
const implausibility = ({ medianNs, vetoNs }: Timing, arithmetic: string): string | undefined =>
  medianNs >= vetoNs
    ? undefined
    : `${medianNs.toFixed(1)} ns is below the provable lower bound of ${vetoNs.toFixed(1)} ns: ${arithmetic}`;
