import type { ComparedSizes } from '../core/compared-sizes.ts';
import type { Evaluation, RoughTime } from '../core/evaluation.ts';
import { whyNotTaken } from '../core/plan/takes-workload.ts';
import type { FailureStatus } from '../core/status.ts';
import { figure } from '../core/values.ts';
import type { ContenderOutcome, DispatchRow } from '../reports/documents/kernel-dispatch.ts';
import {
  type BlocksRequest,
  collect,
  evaluationOf,
  measureBeside,
  type NamedCandidate,
  verifyBefore,
} from './same-blocks.ts';

/** A contender is ruled out if its rough time exceeds that of the quickest one that passes by this factor. */
const MOST_ROUGH_RATIO = 1.5;
/** A verification needs no time of its own: the contenders are measured together afterwards. */
const BLOCKS_OF_A_VERIFICATION = 1;

/** A kernel with settings that may serve a workload. */
export interface Contender extends NamedCandidate {
  /** Names of the only workloads that it is a contender for. */
  readonly workloads?: ReadonlySet<string> | undefined;
}

/** A row before a kernel is chosen. */
export interface JudgedRow extends Omit<DispatchRow, 'chosen'> {
  /** Candidate's id → where its results were compared at this workload's verification. */
  readonly compared: Readonly<Record<string, ComparedSizes>>;
}

export interface DispatchRowRequest extends BlocksRequest {
  readonly contenders: readonly Contender[];
  readonly isMeasured: boolean;
}

/**
 * Judges the contenders of one workload. Those that a rough time does not rule out are verified; those that pass are
 * measured in the same blocks, or have their predicted times.
 */
export const judgeRow = (request: DispatchRowRequest): Promise<JudgedRow> => new RowJudge(request).run();

interface Taker {
  readonly kernel: NamedCandidate;
  readonly roughNs: number | undefined;
}

interface Passed extends Taker {
  readonly evaluation: Evaluation;
}

class RowJudge {
  readonly #request: DispatchRowRequest;
  readonly #outcomes = new Map<string, ContenderOutcome>();
  readonly #compared: Record<string, ComparedSizes> = {};

  constructor(request: DispatchRowRequest) {
    this.#request = request;
  }

  async run(): Promise<JudgedRow> {
    const { workload, options, contenders } = this.#request;
    const passed = await this.#verifyQuickest(await this.#lookRoughly(this.#takers()));
    if (this.#request.isMeasured) await this.#measure(passed);
    else for (const one of passed) this.#predicted(one);
    const { name, dimensions, cache } = workload;
    return {
      workload: name,
      dimensions,
      cache,
      seed: options.seed,
      judgedAt: new Date().toISOString(),
      contenders: contenders.flatMap(({ candidate }) => this.#outcomes.get(candidate.id) ?? []),
      compared: this.#compared,
    };
  }

  #takers(): NamedCandidate[] {
    const { contenders, workload } = this.#request;
    return contenders
      .filter(({ workloads }) => workloads === undefined || workloads.has(workload.name))
      .filter(({ candidate }) => {
        const reason = whyNotTaken(candidate, workload.dimensions);
        if (reason !== undefined) this.#set(candidate.id, { outcome: 'not-applicable', reason });
        return reason === undefined;
      });
  }

  /** Quickest first. A lone taker has nobody to be ruled out by. */
  async #lookRoughly(kernels: readonly NamedCandidate[]): Promise<Taker[]> {
    const { evaluator } = this.#request.session;
    if (!evaluator.estimate || kernels.length < 2) return kernels.map((kernel) => ({ kernel, roughNs: undefined }));
    const takers: { kernel: NamedCandidate; roughNs: number }[] = [];
    for (const kernel of kernels) {
      const rough = await this.#estimate(kernel);
      if (rough.ok) takers.push({ kernel, roughNs: rough.ns });
      else this.#out(kernel, rough);
    }
    const leastNs = Math.min(...takers.map(({ roughNs }) => roughNs));
    for (const taker of takers) {
      if (!this.#request.isMeasured || taker.roughNs <= MOST_ROUGH_RATIO * leastNs) continue;
      // The GPU may have been asleep when the first ones ran.
      const again = await this.#estimate(taker.kernel);
      if (again.ok) taker.roughNs = Math.min(taker.roughNs, again.ns);
    }
    return takers.sort((a, b) => a.roughNs - b.roughNs);
  }

  #estimate(kernel: NamedCandidate): Promise<RoughTime> {
    const { session, workload, options } = this.#request;
    options.onStep?.(`${workload.name}: a first look at ${kernel.name}`);
    return session.evaluator.estimate!(evaluationOf(this.#request, kernel));
  }

  /** A wrong kernel may be quick, so only those that pass rule others out. */
  async #verifyQuickest(takers: readonly Taker[]): Promise<Passed[]> {
    const passed: Passed[] = [];
    for (const taker of takers) {
      const { kernel, roughNs } = taker;
      const quickest = passed[0];
      if (
        !(roughNs === undefined || quickest?.roughNs === undefined) &&
        !(roughNs <= MOST_ROUGH_RATIO * quickest.roughNs)
      ) {
        const ratio = figure(roughNs / quickest.roughNs, 2);
        const reason = `some ${ratio} × the time of ${quickest.kernel.name} in a first look; not measured`;
        this.#set(kernel.candidate.id, { outcome: 'ruled-out', reason, roughNs });
        continue;
      }
      const evaluation = await verifyBefore(this.#request, kernel, this.#blocks());
      const { status, reason = 'no reason given', coverage } = evaluation;
      if (coverage?.compared && status === 'passed') this.#compared[kernel.candidate.id] = coverage.compared;
      if (status === 'passed') passed.push({ ...taker, evaluation });
      else this.#out(kernel, { status, reason }, roughNs);
    }
    return passed;
  }

  #blocks(): number | undefined {
    return this.#request.isMeasured ? BLOCKS_OF_A_VERIFICATION : undefined;
  }

  #predicted({ kernel, roughNs, evaluation: { timing } }: Passed): void {
    if (!timing) return this.#out(kernel, { status: 'device-failed', reason: 'it has no time' }, roughNs);
    const { kind, medianNs } = timing;
    this.#set(kernel.candidate.id, { outcome: 'timed', kind, medianNs, roughNs });
  }

  /** All in the same blocks. Whoever fails in them is left out, and the others are measured again. */
  async #measure(passed: readonly Passed[]): Promise<void> {
    let left = [...passed];
    while (left.length > 0) {
      const [first, ...others] = left as [Passed, ...Passed[]];
      const kernels = others.map(({ kernel }) => kernel);
      const evaluation = await measureBeside(this.#request, first.kernel, kernels, []);
      const { measurements, failed, missing } = collect(first.kernel, evaluation);
      for (const { kernel, roughNs } of left) {
        const reason = missing.get(kernel.name);
        if (reason !== undefined) this.#out(kernel, { status: 'device-failed', reason }, roughNs);
      }
      left = left.filter(({ kernel }) => !missing.has(kernel.name));
      const [failure] = failed;
      if (!failure) return this.#measured(left, measurements);
      if (missing.size > 0) continue;
      // Nobody else is to blame: the first one failed, or the device does not measure any of them.
      const blamed = failure.status === 'device-failed' ? left : [first];
      for (const { kernel, roughNs } of blamed) this.#out(kernel, failure, roughNs);
      left = left.filter((one) => !blamed.includes(one));
    }
  }

  #measured(kernels: readonly Passed[], measurements: ReturnType<typeof collect>['measurements']): void {
    for (const { kernel, roughNs } of kernels) {
      const measurement = measurements.get(kernel.name);
      if (!measurement) this.#out(kernel, { status: 'device-failed', reason: 'it was not measured' }, roughNs);
      else {
        const { medianNs, intervalNs, blockCount } = measurement.summary;
        this.#set(kernel.candidate.id, {
          outcome: 'timed',
          kind: 'measured',
          medianNs,
          intervalNs,
          blockCount,
          roughNs,
        });
      }
    }
  }

  #out(
    { candidate }: NamedCandidate,
    { status, reason }: { status: FailureStatus; reason: string },
    roughNs?: number,
  ): void {
    const outcome = status === 'unsupported' ? 'not-applicable' : 'failed';
    this.#set(candidate.id, outcome === 'failed' ? { outcome, status, reason, roughNs } : { outcome, reason, roughNs });
  }

  #set(candidate: string, outcome: DistributiveOmit<ContenderOutcome, 'candidate'>): void {
    this.#outcomes.set(candidate, { candidate, ...outcome });
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
