import type { Evaluator } from '../../core/evaluation.ts';
import type { RecordingWriter } from '../../store/recording.ts';
import { toPortable } from './portable-evaluation.ts';
import { describeRequest } from './request-description.ts';

/**
 * Keeps every evaluation that `evaluator` makes, with its samples and counters, before anyone sees it. Requests that are
 * aborted or rejected leave nothing. Closing closes both.
 */
export const createRecordingEvaluator = (evaluator: Evaluator, recording: RecordingWriter): Evaluator => ({
  async evaluate(request) {
    const evaluation = await evaluator.evaluate(request);
    // Whatever it says then, it says of the interruption.
    if (request.signal?.aborted || request.quick) return evaluation;
    recording.append({
      kind: 'evaluation',
      request: describeRequest(request),
      evaluation: toPortable(evaluation, request),
    });
    return evaluation;
  },
  prepare: (candidates) => evaluator.prepare?.(candidates),
  async close() {
    try {
      await evaluator.close();
    } finally {
      recording.close();
    }
  },
});
