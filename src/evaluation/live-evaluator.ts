import { randomInt } from 'node:crypto';
import { aboutRequest } from '../core/about-request.ts';
import { type Beside, beside } from '../core/beside.ts';
import type { CompileOutcome } from '../core/compiled-code.ts';
import type { Device } from '../core/device.ts';
import type { LoadedModule } from '../core/device-values.ts';
import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation, EvaluationRequest, Evaluator, RoughTime } from '../core/evaluation.ts';
import { createTurns } from '../core/in-turn.ts';
import type { Candidate } from '../core/kernel.ts';
import type { LaunchPlan } from '../core/launch-plan.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { completeParameters, failedConstraint } from '../core/plan/parameters.ts';
import { deviceRefusal } from '../core/plan/runs-on.ts';
import type { Dimensions } from '../core/problem.ts';
import type { FailureStatus } from '../core/status.ts';
import { valuesKey } from '../core/values.ts';
import { createStream } from '../stats/random.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import type { Instruments } from './instruments/instruments.ts';
import { orDeviceTrouble } from './launches/device-trouble.ts';
import { planLaunches } from './launches/plan-launches.ts';
import { planRefusal } from './launches/plan-refusal.ts';
import type { Refused } from './launches/refusal.ts';
import { createExpectationCache, type ExpectationCache } from './oracle/expectation-cache.ts';
import { compileRefusal, type Outcome, QUICK, refusalOutcome, unverified, whySampled } from './outcome.ts';
import { predictionCaveats, predictOutcome } from './predict-outcome.ts';
import { problemWork } from './problem-work.ts';
import { verifyBesideSample } from './verify/count-sample.ts';
import { countOnly, verify } from './verify/verify.ts';
import { anticipateQuickly, verifyQuickly } from './verify/verify-quickly.ts';
import type { Verified, VerifyRequest } from './verify/verify-request.ts';

export interface LiveEvaluatorOptions {
  readonly device: Device;
  readonly toolchain: Toolchain;
  /** Shared between evaluators of one process, to save reference runs; a new one if absent. */
  readonly oracle?: ExpectationCache;
  /** Shared between evaluators of one process on one device; a new one if absent. */
  readonly known?: Known | undefined;
  /** Checks whose expectations are worked out ahead; see {@link VerifyRequest}. */
  readonly checksAhead?: number | undefined;
  /** Wall-clock limit of one run of a launch sequence, in ms. By default 20,000, and more for large workloads. */
  readonly runTimeoutMs?: number;
  /** Warp instructions one CTA may execute; the device's own limit when absent. */
  readonly instructionsPerCta?: number;
  /**
   * Real GPUs: determines the inputs, addresses, orders and compared launches of measurements. Drawn at random if absent,
   * because a kernel's author may know the seed.
   */
  readonly secret?: number;
  /** Real GPUs: what else can be asked of an evaluation. */
  readonly instruments?: Instruments;
}

/** Least time limit of a run in ms, and the FLOP rate of the problem below which a kernel counts as stuck. */
const RUN_LIMITS = {
  virtual: { leastMs: 20_000, flopPerSecond: 50e6 },
  cuda: { leastMs: 10_000, flopPerSecond: 10e9 },
} as const;

/** Loaded only for real GPUs. */
const measuring = () => import('./measure-outcome.ts');

/** A day: timers take at most 2^31 ms. */
const LONGEST_RUN_MS = 24 * 3_600_000;

/**
 * Judges candidates on a device, one at a time: checks limits and constraints, compiles, loads, and verifies (counted run
 * included). Then it predicts and diagnoses on a virtual device, or measures on a real one. `close` does not close the
 * device and the toolchain, which belong to the caller.
 */
export function createLiveEvaluator(options: LiveEvaluatorOptions): Evaluator {
  const oracle = options.oracle ?? createExpectationCache();
  const known = options.known ?? createKnown();
  const secret = options.secret ?? randomInt(2 ** 32);
  let evaluationCount = 0;
  let isClosed = false;
  const inTurn = createTurns();
  return {
    evaluate(request) {
      // Reasons reveal addresses and numbers of one measurement, so the next one uses others.
      const own = createStream(secret, 'evaluation', evaluationCount++).bits(0);
      const tools = { ...options, oracle, known, secret: own };
      return inTurn(() => new LiveEvaluation(tools, request).run());
    },
    estimate: (request) => inTurn(() => new LiveEvaluation({ ...options, oracle, known, secret }, request).estimate()),
    prepare(candidates) {
      const { device, toolchain } = options;
      const { architecture } = device.spec;
      // After a candidate that is being asked for. A compile error is reported when one is judged.
      setImmediate(() => {
        if (isClosed) return;
        for (const candidate of candidates) toolchain.compile({ candidate, architecture }).catch(() => {});
      });
    },
    close: async () => {
      isClosed = true;
      await inTurn(async () => undefined);
    },
  };
}

/** What evaluations of a process tell later ones. */
export interface Known {
  /** Verification results by code, so that a longer measurement of a candidate does not verify it again. */
  readonly verified: Map<string, Pick<Verified, 'correctness' | 'coverage'>>;
  /** Measured times by candidate and shape, in ns: how many sequences a sanitizer can run is known before the next measurement. */
  readonly times: Map<string, number>;
}

export const createKnown = (): Known => ({ verified: new Map(), times: new Map() });

/** How a verification may end only because sanitizers used the GPU as well. */
const MAY_COME_OF_SHARING: readonly FailureStatus[] = ['timed-out', 'device-failed'];

/** What the evaluations of one evaluator share. */
interface EvaluationTools extends LiveEvaluatorOptions {
  readonly oracle: ExpectationCache;
  readonly known: Known;
  readonly secret: number;
}

/** One candidate on its way through the stages. */
class LiveEvaluation {
  readonly #options: EvaluationTools;
  readonly #request: EvaluationRequest;
  readonly #elapsedMs = { compile: 0, verify: 0, time: 0, total: 0 };
  /** Nothing else of this evaluation uses the GPU while the candidate is verified. */
  #isAlone = false;

  constructor(options: EvaluationTools, request: EvaluationRequest) {
    this.#options = options;
    this.#request = request;
  }

  async run(): Promise<Evaluation> {
    const startMs = performance.now();
    this.#request.signal?.throwIfAborted();
    const judged = await orDeviceTrouble(this.#judge());
    const outcome: Outcome = 'ok' in judged ? { status: judged.status, reason: judged.reason } : judged;
    this.#elapsedMs.total = performance.now() - startMs;
    return {
      ...aboutRequest(this.#request, this.#options.device.identity),
      seed: this.#request.seed,
      findings: [],
      ...outcome,
      elapsedMs: this.#elapsedMs,
    };
  }

  /** A few unchecked runs on a real GPU; a prediction after two checks on a virtual one, where only counted runs have a time. */
  async estimate(): Promise<RoughTime> {
    const { device } = this.#options;
    const quickly = { ...this.#request, quick: true };
    if (!device.measuring) return roughTimeIn(await new LiveEvaluation(this.#options, quickly).run());
    this.#request.signal?.throwIfAborted();
    return orDeviceTrouble(this.#estimateOnGpu());
  }

  async #estimateOnGpu(): Promise<RoughTime> {
    const misfit = this.#misfit();
    if (misfit) return notRun(misfit);
    const { device } = this.#options;
    const { problem, workload } = this.#request;
    const { dimensions } = workload;
    device.prepare?.();
    const compiled = await this.#compile(this.#request.candidate);
    if (!compiled.ok) return notRun(compileRefusal(compiled));
    const loaded = await device.load(compiled.code);
    if (!loaded.ok) return { ok: false, status: loaded.status, reason: loaded.message };
    const { module } = loaded;
    try {
      const plan = this.#planFor(dimensions, module);
      const { roughTimeOf } = await import('./measure/kernel-contender.ts');
      return await roughTimeOf({ device, module, plan, problem, dimensions, timeoutMs: this.#runTimeoutMs() });
    } finally {
      await device.unload(module);
    }
  }

  async #judge(): Promise<Outcome> {
    const { kernel } = this.#request.candidate;
    const misfit = this.#misfit();
    if (misfit) return misfit;
    this.#request.onStage?.({ stage: 'compile' });
    this.#options.device.prepare?.();
    this.#anticipate();
    const compiled = await this.#timed('compile', () => this.#compile(this.#request.candidate));
    if (!compiled.ok) return compileRefusal(compiled);
    const loaded = await this.#timed('compile', () => this.#options.device.load(compiled.code));
    const told = [
      ...compiled.code.diagnostics,
      ...(this.#options.device.measuring ? [] : predictionCaveats(compiled.code)),
    ];
    const diagnostics = told.length > 0 && { diagnostics: told };
    if (!loaded.ok) return { ...refusalOutcome(kernel, { ...loaded, reason: loaded.message }), ...diagnostics };
    let outcome: Outcome | 'judge alone';
    try {
      outcome = (await this.#profileAgain(loaded.module)) ?? (await this.#judgeLoaded(loaded.module));
    } finally {
      await this.#options.device.unload(loaded.module);
    }
    if (outcome !== 'judge alone') return { ...outcome, ...diagnostics };
    this.#isAlone = true;
    return this.#judge();
  }

  /** Verifies, beside the sanitizer if that can be; then times, with the GPU for itself. */
  async #judgeLoaded(module: LoadedModule): Promise<Outcome | 'judge alone'> {
    const { device, instruments } = this.#options;
    const reference = device.measuring && instruments?.deviceReference?.prepare?.(this.#request.problem);
    const sanitizing = this.#sanitizeBeside(module);
    try {
      const verified = await this.#timed('verify', () => this.#verify(module));
      if (verified.ok) {
        const sanitized = await this.#timed('verify', async () => sanitizing?.result());
        await this.#timed('verify', async () => reference);
        return await this.#judgeTime(module, verified, sanitized);
      }
      if (sanitizing && MAY_COME_OF_SHARING.includes(verified.status)) return 'judge alone';
      return refusalOutcome(this.#request.candidate.kernel, verified);
    } finally {
      await sanitizing?.end();
    }
  }

  /**
   * The sanitizer's processes, started before the verification, during which nothing is timed. Undefined if no sanitizer is asked for,
   * or if it is not known how long the candidate takes: then they run after the measurement.
   */
  #sanitizeBeside(module: LoadedModule): Beside<Pick<Evaluation, 'sanitizer'>> | undefined {
    const { device, oracle, instruments, known } = this.#options;
    const { problem, candidate, workload, seed, sanitize, signal } = this.#request;
    const sequenceNs = known.times.get(this.#timeKey());
    const work = instruments?.sanitize;
    if (!sanitize || !work || sequenceNs === undefined || this.#isAlone) return undefined;
    const plan = this.#planFor(workload.dimensions, module);
    const subject = { device, module, plan, problem, candidate, workload, seed, oracle, sequenceNs };
    return beside((ending) => work({ ...subject, signal: ending }), signal);
  }

  #timeKey(): string {
    const { problem, candidate, workload } = this.#request;
    return JSON.stringify([problem.folder, candidate.id, valuesKey(workload.dimensions)]);
  }

  /** Someone waits for a quick look: what its checks expect is worked out while the candidate is compiled. */
  #anticipate(): void {
    const { quick, problem, candidate, workload, seed } = this.#request;
    const { oracle } = this.#options;
    if (quick) void anticipateQuickly({ problem, candidate, dimensions: workload.dimensions, seed, oracle });
  }

  /** Only for a candidate that passed before on a real GPU; undefined for all others, which must be judged. */
  async #profileAgain(module: LoadedModule): Promise<Outcome | undefined> {
    const { device, oracle, instruments } = this.#options;
    const { passedBefore, workload } = this.#request;
    if (!device.measuring || !passedBefore?.timing) return undefined;
    const found = { ...passedBefore, timing: passedBefore.timing };
    const options = { device, request: this.#request, oracle, instruments };
    const { profileOutcome } = await measuring();
    return profileOutcome(options, module, this.#planFor(workload.dimensions, module), found);
  }

  #judgeTime(
    module: LoadedModule,
    verified: Verified,
    sanitized: Pick<Evaluation, 'sanitizer'> | undefined,
  ): Promise<Outcome> {
    const { device, oracle, instruments, secret, known } = this.#options;
    const request = this.#request;
    request.onStage?.({ stage: 'time', kind: device.measuring ? 'measured' : 'predicted' });
    return this.#timed('time', async () => {
      if (!device.measuring) {
        const predicted = predictOutcome({ device, ...request }, verified);
        return unverified(predicted, request.quick ? QUICK : whySampled(verified.coverage));
      }
      const timeoutMs = this.#runTimeoutMs();
      const loadBeside = (candidate: Candidate) => this.#loadBeside(candidate);
      const { measureOutcome } = await measuring();
      const options = { device, request, oracle, instruments, secret, timeoutMs, loadBeside, sanitized };
      const outcome = await measureOutcome(options, module, verified);
      if (outcome.status === 'passed' && outcome.timing) known.times.set(this.#timeKey(), outcome.timing.medianNs);
      return outcome;
    });
  }

  async #loadBeside(candidate: Candidate): Promise<{ module: LoadedModule; plan: LaunchPlan } | string> {
    const compiled = await this.#compile(candidate);
    const loaded = compiled.ok ? await this.#options.device.load(compiled.code) : compiled;
    if (!loaded.ok) return loaded.message;
    try {
      const plan = this.#planFor(this.#request.workload.dimensions, loaded.module, candidate);
      return { module: loaded.module, plan };
    } catch (error) {
      await this.#options.device.unload(loaded.module);
      if (error instanceof WarpsmithError) return planRefusal(error).reason;
      throw error;
    }
  }

  /** Refusals known before compiling: the kernel does not take this workload, or these parameters. */
  #misfit(): Outcome | undefined {
    const { device } = this.#options;
    const { candidate, workload } = this.#request;
    const { file } = candidate.kernel;
    const refuse = (status: 'invalid' | 'unsupported', reason: string): Outcome => ({ status, reason });
    try {
      const limit = failedLimit(file, workload.dimensions);
      if (limit !== undefined) return refuse('unsupported', `${file.name} does not take this workload: ${limit}`);
      const refusal = deviceRefusal(file, device);
      if (refusal !== undefined) return refuse('unsupported', refusal);
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
    return toolchain.compile({ candidate, architecture: device.spec.architecture, signal });
  }

  #planFor(
    dimensions: Dimensions,
    module?: LoadedModule,
    candidate = this.#request.candidate,
    multiprocessors?: number,
  ): LaunchPlan {
    const { problem } = this.#request;
    const { spec } = this.#options.device;
    return planLaunches({ problem, candidate, dimensions, spec, module, multiprocessors });
  }

  /**
   * Predictions need the counters of a counted run; measured candidates are verified once for all their evaluations. The
   * key includes the candidate's id, because kernel.json also decides how the code is launched.
   */
  async #verify(module: LoadedModule): Promise<Verified | Refused> {
    const { device, known } = this.#options;
    const { workload, seed, problem, candidate, thorough = false, large = false, suites = [] } = this.#request;
    if (!device.measuring) return this.#verifyAnew(module);
    const shape = valuesKey(workload.dimensions);
    const key = JSON.stringify([problem.folder, candidate.id, module.code.key, shape, seed, thorough, large, suites]);
    const shown = known.verified.get(key);
    if (shown) return { ok: true, ...shown, plan: this.#planFor(workload.dimensions, module), counters: [] };
    const verified = await this.#verifyAnew(module);
    if (verified.ok) known.verified.set(key, { correctness: verified.correctness, coverage: verified.coverage });
    return verified;
  }

  #verifyAnew(module: LoadedModule): Promise<Verified | Refused> {
    const { device, instructionsPerCta, oracle, checksAhead } = this.#options;
    const { problem, candidate, workload, seed, thorough, large, suites, signal, onStage } = this.#request;
    const { quick, sampleCtas, passedBefore } = this.#request;
    const verifying: VerifyRequest = {
      ...{ device, module, problem, candidate, seed, thorough, large, suites, oracle },
      dimensions: workload.dimensions,
      cache: workload.cache,
      planFor: (dimensions, multiprocessors) => this.#planFor(dimensions, module, candidate, multiprocessors),
      timeoutMs: this.#runTimeoutMs(),
      instructionsPerCta,
      checksAhead,
      signal,
      onCheck: (check) => onStage?.({ stage: 'verify', ...check }),
    };
    if (quick) return verifyQuickly(verifying);
    if (sampleCtas !== undefined) return verifyBesideSample({ ...verifying, sampleCtas });
    return passedBefore && !device.measuring ? countOnly(verifying, passedBefore) : verify(verifying);
  }

  #runTimeoutMs(): number {
    const { runTimeoutMs, device } = this.#options;
    const { problem, workload, suites = [] } = this.#request;
    const { leastMs, flopPerSecond } = RUN_LIMITS[device.identity.kind];
    const shapes = [workload.dimensions, ...suites.flatMap((suite) => suite.shapes)];
    const flop = Math.max(...shapes.map((dimensions) => problemWork(problem, { ...workload, dimensions }).flop));
    return Math.min(runTimeoutMs ?? Math.max(leastMs, (flop / flopPerSecond) * 1000), LONGEST_RUN_MS);
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

/** Why nothing was run. */
const notRun = ({ status, reason = 'no reason given' }: Pick<Evaluation, 'status' | 'reason'>): RoughTime => ({
  ok: false,
  status: status === 'passed' ? 'device-failed' : status,
  reason,
});

const roughTimeIn = ({ status, reason, timing }: Evaluation): RoughTime =>
  timing && (status === 'passed' || status === 'unverified')
    ? { ok: true, ns: timing.medianNs }
    : notRun({ status, reason });
