import type { Evaluation, EvaluationRequest, Evaluator } from '../core/evaluation.ts';

/**
 * Never has the same candidate judged twice on one workload, device and seed: a second request gets the first one's
 * evaluation, under its first id. Requests that were aborted or rejected are forgotten.
 */
export const createCachedEvaluator = (evaluator: Evaluator, deviceId: string): Evaluator => {
  const known = new Map<string, Promise<Evaluation>>();
  return {
    evaluate(request) {
      const key = keyOf(request, deviceId);
      const earlier = known.get(key);
      if (earlier) return earlier;
      const evaluation = evaluator.evaluate(request);
      known.set(key, evaluation);
      evaluation.catch(() => known.delete(key));
      return evaluation;
    },
    close: () => evaluator.close(),
  };
};

const keyOf = (request: EvaluationRequest, deviceId: string): string => {
  const { problem, candidate, workload, seed, against = [], libraryBaselines = [] } = request;
  const { tier, blocks, profile, sanitize } = request;
  return JSON.stringify([
    problem.folder,
    candidate.id,
    Object.entries(workload.dimensions).sort(),
    workload.cache,
    deviceId,
    seed,
    [tier, blocks, profile, sanitize],
    against.map((other) => [other.name, other.candidate.id]),
    libraryBaselines,
  ]);
};
