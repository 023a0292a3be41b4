import type { CompileOutcome } from '../core/compiled-code.ts';
import type { ArgumentMismatch, Device, LoadedModule } from '../core/device.ts';
import { type ErrorDetails, WarpsmithError } from '../core/errors.ts';
import type { Correctness, Evaluation, EvaluationRequest, Evaluator } from '../core/evaluation.ts';
import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { Candidate, Kernel } from '../core/kernel.ts';
import type { LaunchPlan } from '../core/launch-plan.ts';
import type { Comparison, Measurement } from '../core/measurement.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { completeParameters, failedConstraint } from '../core/plan/parameters.ts';
import type { Dimensions } from '../core/problem.ts';
import type { Timing } from '../core/timing.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import { attainableBoundNs, type ProblemWork, vetoBoundNs } from '../hardware/bounds.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import { hasHalfPrecisionMatrixWork } from './half-precision-matrix-work.ts';
import { type Instruments, librariesFor } from './instruments.ts';
import { type LoadedKernel, type MeasuredCandidate, measureCandidate } from './measure/measure-candidate.ts';
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
  /** Real GPUs: what else can be asked of an evaluation. */
  readonly instruments?: Instruments;
}

/** Least wall-clock limit of a run in ms, and the FLOP of the problem per second below which no kernel makes progress. */
const RUN_LIMITS = {
  virtual: { leastMs: 20_000, flopPerSecond: 50e6 },
  cuda: { leastMs: 10_000, flopPerSecond: 10e9 },
} as const;

/**
 * Judges candidates on a device, one at a time: limits and constraints, compile, load, verify (the counted run included),
 * predict, diagnose. The device and the toolchain stay the caller's; `close` does not close them.
 */
export const createLiveEvaluator = (options: LiveEvaluatorOptions): Evaluator => {
  const oracle = options.oracle ?? createOracle();
  const known: KnownVerified = new Map();
  let queue: Promise<unknown> = Promise.resolve();
  return {
    evaluate(request) {
      const evaluation = queue.then(() => new LiveEvaluation({ ...options, oracle, known }, request).run());
      queue = evaluation.catch(() => undefined);
      return evaluation;
    },
    close: async () => {
      await queue;
    },
  };
};

/** Only what is faster than every kernel it ran against, if any, is worth a profile. */
const isOfInterest = ({ against = [] }: EvaluationRequest, comparisons: readonly Comparison[]): boolean =>
  comparisons.every(({ verdict, baseline }) => verdict === 'faster' || !against.some(({ name }) => name === baseline));

/** Name of the candidate among what is measured beside it. */
const CANDIDATE = 'candidate';

type Outcome = Pick<Evaluation, 'status'> & Partial<Evaluation>;

/** What verification showed of the code it was shown of, so that measuring a candidate longer does not verify it again. */
type KnownVerified = Map<string, Correctness>;

/** One candidate on its way through the stages. */
class LiveEvaluation {
  readonly #options: LiveEvaluatorOptions & { oracle: Oracle; known: KnownVerified };
  readonly #request: EvaluationRequest;
  readonly #elapsedMs = { compile: 0, verify: 0, time: 0, total: 0 };

  constructor(options: LiveEvaluatorOptions & { oracle: Oracle; known: KnownVerified }, request: EvaluationRequest) {
    this.#options = options;
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
    const compiled = await this.#timed('compile', () => this.#compile(this.#request.candidate));
    if (!compiled.ok) return compileRefusal(compiled);
    const loaded = await this.#timed('compile', () => this.#options.device.load(compiled.code));
    const diagnostics = compiled.code.diagnostics.length > 0 && { diagnostics: [...compiled.code.diagnostics] };
    if (!loaded.ok) return { ...refusalOutcome(kernel, { ...loaded, reason: loaded.message }), ...diagnostics };
    try {
      const verified = await this.#timed('verify', () => this.#verify(loaded.module));
      const outcome = verified.ok ? await this.#judgeTime(loaded.module, verified) : refusalOutcome(kernel, verified);
      return { ...outcome, ...diagnostics };
    } finally {
      await this.#options.device.unload(loaded.module);
    }
  }

  #judgeTime(module: LoadedModule, verified: Verified): Promise<Outcome> {
    const stage = this.#options.device.measuring
      ? () => this.#measure(module, verified)
      : async () => this.#predict(verified);
    return this.#timed('time', stage);
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

  #compile(candidate: Candidate): Promise<CompileOutcome> {
    const { device, toolchain } = this.#options;
    const { signal } = this.#request;
    return toolchain.compile({ candidate, architecture: device.spec.architecture, ...(signal && { signal }) });
  }

  #planFor(dimensions: Dimensions, module?: LoadedModule, candidate = this.#request.candidate): LaunchPlan {
    const { problem } = this.#request;
    const { spec } = this.#options.device;
    return planLaunches({ problem, candidate, dimensions, spec, ...(module && { module }) });
  }

  /** Predictions need the counters of a counted run; measured candidates are verified once for all their evaluations. */
  async #verify(module: LoadedModule): Promise<Verified | Refused> {
    const { device, known } = this.#options;
    const { workload, seed, problem } = this.#request;
    if (!device.measuring) return this.#verifyAnew(module);
    const key = JSON.stringify([problem.folder, module.code.key, Object.entries(workload.dimensions).sort(), seed]);
    const correctness = known.get(key);
    if (correctness) return { ok: true, correctness, plan: this.#planFor(workload.dimensions, module), counters: [] };
    const verified = await this.#verifyAnew(module);
    if (verified.ok) known.set(key, verified.correctness);
    return verified;
  }

  #verifyAnew(module: LoadedModule): Promise<Verified | Refused> {
    const { device, instructionsPerCta, oracle } = this.#options;
    const { problem, candidate, workload, seed, signal } = this.#request;
    return verify({
      device,
      module,
      problem,
      candidate,
      dimensions: workload.dimensions,
      seed,
      oracle,
      planFor: (dimensions) => this.#planFor(dimensions, module),
      timeoutMs: this.#runTimeoutMs(),
      ...(instructionsPerCta !== undefined && { instructionsPerCta }),
      ...(signal && { signal }),
    });
  }

  #runTimeoutMs(): number {
    const { runTimeoutMs, device } = this.#options;
    const { leastMs, flopPerSecond } = RUN_LIMITS[device.identity.kind];
    return runTimeoutMs ?? Math.max(leastMs, (this.#work().flop / flopPerSecond) * 1000);
  }

  #predict({ correctness, plan, counters: launches }: Verified): Outcome {
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

  async #measure(module: LoadedModule, { correctness, plan }: Verified): Promise<Outcome> {
    const { candidate } = this.#request;
    const against = await this.#loadAgainst();
    try {
      if ('status' in against) return against;
      const measured = await this.#timeBeside({ name: CANDIDATE, module, plan }, against);
      if (!measured.ok) return { ...refusalOutcome(candidate.kernel, measured), correctness };
      const { measurement, comparisons, baselines, missingBaselines } = measured;
      const timing = this.#measuredTiming(measurement);
      const evidence = {
        timing,
        correctness,
        ...(comparisons.length > 0 && { comparisons }),
        ...(baselines.length > 0 && { baselines }),
        ...(missingBaselines.length > 0 && { missingBaselines }),
      };
      const implausible = implausibility(timing, vetoBoundNs(this.#work(), this.#options.device.spec).arithmetic);
      if (implausible) return { status: 'implausible', reason: implausible, ...evidence };
      return { status: 'passed', ...evidence, ...(await this.#instrument(module, plan, timing, comparisons)) };
    } finally {
      if (!('status' in against)) for (const kernel of against) await this.#options.device.unload(kernel.module);
    }
  }

  #measuredTiming(measurement: Measurement): Timing {
    const { device } = this.#options;
    const { medianNs, intervalNs } = measurement.summary;
    return {
      kind: 'measured',
      medianNs,
      intervalNs,
      vetoNs: vetoBoundNs(this.#work(), device.spec).ns,
      attainableNs: attainableBoundNs(this.#work(), device.spec).ns,
      bindingResource: 'measured',
      measurement,
    };
  }

  async #timeBeside(kernel: LoadedKernel, against: readonly LoadedKernel[]): Promise<MeasuredCandidate | Refused> {
    const { device, instruments } = this.#options;
    const { problem, workload, tier = 'screen', blocks, seed, libraryBaselines = [], signal } = this.#request;
    const libraries = await librariesFor(instruments, libraryBaselines, problem, workload, seed);
    const measured = await measureCandidate({
      device,
      problem,
      workload,
      candidate: kernel,
      against,
      libraries: libraries.found,
      tier,
      ...(blocks !== undefined && { blocks }),
      seed,
      timeoutMs: this.#runTimeoutMs(),
      deviceReference: instruments?.deviceReference,
      ...(signal && { signal }),
    });
    if (!measured.ok) return measured;
    return { ...measured, missingBaselines: [...libraries.missing, ...measured.missingBaselines] };
  }

  /** The kernels to be measured beside this one; they passed before, so that it is not the candidate's fault if one fails now. */
  async #loadAgainst(): Promise<LoadedKernel[] | Outcome> {
    const loaded: LoadedKernel[] = [];
    for (const { name, candidate } of this.#request.against ?? []) {
      const compiled = await this.#compile(candidate);
      const module = compiled.ok ? await this.#options.device.load(compiled.code) : compiled;
      if (!module.ok)
        return { status: 'device-failed', reason: `baseline ${name} can't be loaded any more: ${module.message}` };
      const plan = this.#planFor(this.#request.workload.dimensions, module.module, candidate);
      loaded.push({ name, module: module.module, plan });
    }
    return loaded;
  }

  /** Profile, counters, findings and the sanitizer, as far as they were asked for and are there. */
  async #instrument(
    module: LoadedModule,
    plan: LaunchPlan,
    timing: Timing,
    comparisons: readonly Comparison[],
  ): Promise<Partial<Evaluation>> {
    const { device, instruments, oracle } = this.#options;
    const { problem, candidate, workload, seed, profile = 'none', sanitize = false, signal } = this.#request;
    const subject = {
      device,
      module,
      plan,
      problem,
      candidate,
      workload,
      seed,
      oracle,
      timing,
      ...(signal && { signal }),
    };
    return {
      ...(profile !== 'none' &&
        isOfInterest(this.#request, comparisons) &&
        (await instruments?.diagnose?.({ ...subject, level: profile }))),
      ...(sanitize && (await instruments?.sanitize?.(subject))),
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
