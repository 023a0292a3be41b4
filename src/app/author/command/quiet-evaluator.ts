import type { EvaluationRequest, Evaluator } from '../../../core/evaluation.ts';

/** Who keeps still while a GPU measures. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

/**
 * The evaluator of a real GPU, under which agents are stopped while it measures: what they do on the processor would show in the times.
 * They go on when the measurement ends, however it does.
 */
export function quietEvaluator(evaluator: Evaluator, agents: Pausable): Evaluator {
  const evaluate = async (request: EvaluationRequest) => {
    const onStage: EvaluationRequest['onStage'] = (stage) => {
      if (stage.stage === 'time' && stage.kind === 'measured') agents.pause();
      else agents.resume();
      request.onStage?.(stage);
    };
    try {
      return await evaluator.evaluate({ ...request, onStage });
    } finally {
      agents.resume();
    }
  };
  const estimate: Evaluator['estimate'] = async (request) => {
    agents.pause();
    try {
      return await evaluator.estimate!(request);
    } finally {
      agents.resume();
    }
  };
  return {
    evaluate,
    estimate: evaluator.estimate && estimate,
    prepare: (candidates) => evaluator.prepare?.(candidates),
    close: () => evaluator.close(),
  };
}
