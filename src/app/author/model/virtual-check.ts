import { deriveSeed } from '../../../core/derive-seed.ts';
import type { Candidate } from '../../../core/kernel.ts';
import { completeDimensions } from '../../../core/plan/dimensions.ts';
import { takesWorkload } from '../../../core/plan/takes-workload.ts';
import type { Dimensions, Problem } from '../../../core/problem.ts';
import type { EvaluationStatus } from '../../../core/status.ts';
import { DEVICE_SPECS } from '../../../hardware/device-specs.ts';
import { feedbackOf, feedbackText } from '../../../reports/feedback.ts';
import { openSession, type Session } from '../../session.ts';

/** What a virtual GPU finds wrong, a real one would find, too. Anything else may be its own limit. */
const BLAMES: ReadonlySet<EvaluationStatus> = new Set(['wrong', 'unsafe', 'crashed', 'launch-failed']);

/** Runs candidates on a virtual GPU like the real one, at a small shape, before they use time of the real one. */
export interface VirtualCheck extends AsyncDisposable {
  /** What is wrong with a candidate, as its author is told of it; undefined if nothing was found, or it can't run there. */
  check(candidate: Candidate): Promise<string | undefined>;
}

export interface VirtualCheckRequest {
  readonly session: Pick<Session, 'device'>;
  readonly problem: Problem;
  /** Those of its inputs follow from it. */
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
  /** Replaces the session, for tests. */
  readonly open?: (device: string) => Promise<Pick<Session, 'evaluator' | typeof Symbol.asyncDispose>>;
}

/** Undefined where kernels are judged on a virtual GPU anyway, or none is like the real one. */
export function openVirtualCheck(request: VirtualCheckRequest): VirtualCheck | undefined {
  const { session, problem, seed, signal, open = openVirtual } = request;
  const { identity, spec } = session.device;
  const like =
    DEVICE_SPECS.get(spec.id) ??
    [...DEVICE_SPECS.values()].find(({ architecture }) => architecture === spec.architecture);
  if (identity.kind === 'virtual' || !like) return undefined;
  let opened: ReturnType<typeof open> | undefined;
  return {
    async check(candidate) {
      const dimensions = largestCheck(problem, candidate);
      if (!dimensions) return undefined;
      opened ??= open(`virtual:${like.id}`);
      const evaluation = await (await opened).evaluator.evaluate({
        problem,
        candidate,
        workload: { name: 'check', dimensions, cache: 'hot' },
        seed: deriveSeed(seed, `${candidate.id} on a virtual GPU`),
        id: 'e0',
        quick: true,
        signal,
      });
      if (!BLAMES.has(evaluation.status)) return undefined;
      return `On a virtual GPU, before any time of the real one:\n${feedbackText(feedbackOf({ evaluation }))}`;
    },
    async [Symbol.asyncDispose]() {
      await (await opened)?.[Symbol.asyncDispose]();
    },
  };
}

const openVirtual = (device: string): Promise<Session> => openSession({ device });

/** The largest of the problem's check shapes that the candidate takes: all are small, and the smallest hide much. */
function largestCheck({ file }: Problem, candidate: Candidate): Dimensions | undefined {
  const size = (dimensions: Dimensions): number =>
    Object.values(dimensions).reduce((product, value) => product * value, 1);
  return file.checkShapes
    .map(({ dimensions }) => completeDimensions(file.dimensions, dimensions))
    .filter((dimensions) => takesWorkload(candidate, dimensions))
    .sort((a, b) => size(b) - size(a))[0];
}
