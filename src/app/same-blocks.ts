import type { Energy } from '../core/energy.ts';
import type { BaselineMeasurement, Evaluation, EvaluationRequest } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import type { Measurement, Tier } from '../core/measurement.ts';
import type { Problem, Workload } from '../core/problem.ts';
import type { FailureStatus } from '../core/status.ts';
import type { Session, Surroundings } from './session.ts';

/** A kernel under its name among the contenders. */
export interface NamedCandidate {
  readonly name: string;
  readonly candidate: Candidate;
}

/** One workload at which kernels are verified, and measured in the same blocks. */
export interface BlocksRequest {
  readonly options: Surroundings & {
    readonly seed: number;
    readonly tier: Tier;
    readonly blocks?: number;
    readonly energy?: boolean;
  };
  readonly session: Pick<Session, 'evaluator'>;
  readonly problem: Problem;
  readonly workload: Workload;
}

/** A kernel that is wrong, or could not be measured. */
export interface FailedKernel {
  readonly contender: string;
  readonly status: FailureStatus;
  readonly reason: string;
}

/** Judges a kernel by itself. Only one that passes may be measured beside others. @param blocks of its own measurement. */
export function verifyBefore(request: BlocksRequest, kernel: NamedCandidate, blocks?: number): Promise<Evaluation> {
  request.options.onStep?.(`${request.workload.name}: verifying ${kernel.name}`);
  return request.session.evaluator.evaluate({ ...evaluationOf(request, kernel), blocks });
}

interface Asked extends Pick<EvaluationRequest, 'seed' | 'problem' | 'workload'> {
  readonly options: Surroundings;
}

/** A candidate on a workload, with nothing beside it. */
export const requestOf = (
  { options: { signal, onStage }, seed, problem, workload }: Asked,
  candidate: Candidate,
  id: string,
): EvaluationRequest => ({ problem, candidate, workload, seed, id, signal, onStage });

export const evaluationOf = (request: BlocksRequest, { name, candidate }: NamedCandidate): EvaluationRequest =>
  requestOf({ ...request, seed: request.options.seed }, candidate, name);

export function measureBeside(
  request: BlocksRequest,
  first: NamedCandidate,
  others: readonly NamedCandidate[],
  libraryBaselines: readonly string[],
): Promise<Evaluation> {
  const { options, session, workload } = request;
  const count = 1 + others.length + libraryBaselines.length;
  options.onStep?.(`${workload.name}: measuring ${count} contenders in the same blocks`);
  return session.evaluator.evaluate({
    ...evaluationOf(request, first),
    tier: options.tier,
    blocks: options.blocks,
    energy: options.energy,
    against: others.length === 0 ? undefined : others,
    libraryBaselines: libraryBaselines.length === 0 ? undefined : libraryBaselines,
  });
}

/** What one evaluation measured, under the ladder's names. */
export interface Collected {
  readonly measurements: Map<string, Measurement>;
  readonly baselines: readonly BaselineMeasurement[];
  readonly failed: FailedKernel[];
  readonly energy?: Energy | undefined;
  readonly missing: ReadonlyMap<string, string>;
}

export const nothingMeasured = (): Collected => ({
  measurements: new Map(),
  baselines: [],
  failed: [],
  missing: new Map(),
});

export function collect(first: NamedCandidate, evaluation: Evaluation): Collected {
  const { status, reason = 'no reason given', timing, baselines = [], missingBaselines = [] } = evaluation;
  const measurement = timing?.measurement;
  const failed = status === 'passed' && measurement ? [] : [failureOf(first.name, evaluation, reason)];
  const own = measurement && failed.length === 0 ? [{ name: first.name, measurement }] : [];
  return {
    measurements: new Map([...own, ...baselines].map(({ name, measurement }) => [name, measurement])),
    baselines,
    failed,
    energy: evaluation.energy,
    missing: new Map(missingBaselines.map((missing) => [missing.name, missing.reason])),
  };
}

const failureOf = (contender: string, { status }: Evaluation, reason: string): FailedKernel => ({
  contender,
  status: status === 'passed' ? 'device-failed' : status,
  reason,
});
