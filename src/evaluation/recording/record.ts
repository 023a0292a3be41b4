import type { Evaluator } from '../../core/evaluation.ts';
import type { RecordingWriter } from '../../store/recording.ts';
import { toPortable } from './portable-evaluation.ts';
import { describeRequest } from './request-description.ts';

/**
 * Records every evaluation of `evaluator`, with samples and counters, before it returns it. Aborted or rejected requests
 * leave nothing. Closing it closes both.
 */
export const createRecordingEvaluator = (evaluator: Evaluator, recording: RecordingWriter): Evaluator => ({
  async evaluate(request) {
    const evaluation = await evaluator.evaluate(request);
    // Whatever it says then, it says of the interruption.
    if (request.signal?.aborted || request.quick || request.sampleCtas !== undefined) return evaluation;
    recording.append({
      kind: 'evaluation',
      request: describeRequest(request),
      evaluation: toPortable(evaluation, request),
    });
    return evaluation;
  },
  estimate: evaluator.estimate,
  prepare: (candidates) => evaluator.prepare?.(candidates),
  async close() {
    try {
      await evaluator.close();
    } finally {
      recording.close();
    }
  },
});
