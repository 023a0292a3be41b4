import type { Evaluation, EvaluationRequest, Evaluator } from '../../core/evaluation.ts';
import type { RecordedEvaluation, Recording, RequestDescription } from '../../store/recording.ts';
import { notJudged } from './not-judged.ts';
import { fromPortable } from './portable-evaluation.ts';
import { describeCandidate, describeRequest, differences, requestKey } from './request-description.ts';

/**
 * Answers from a recording, without a device: the same requests get the same evaluations, samples and counters included.
 * Several recorded answers to one request come in their order, and the last one answers all further requests. A request
 * that was never recorded ends as `device-failed`, which blames no candidate; the reason names the nearest recorded one.
 */
export function createRecordedEvaluator(recording: Recording): Evaluator {
  const answers = new Map<string, RecordedEvaluation[]>();
  for (const entry of recording.evaluations) {
    const key = requestKey(entry.request);
    answers.set(key, [...(answers.get(key) ?? []), entry]);
  }
  return {
    async evaluate(request) {
      request.signal?.throwIfAborted();
      const asked = describeRequest(request);
      const left = answers.get(requestKey(asked));
      const answer = left && left.length > 1 ? left.shift() : left?.[0];
      if (!answer) return missing(recording, request, asked);
      return { ...fromPortable(answer.evaluation, request), id: request.id ?? 'e0' };
    },
    close: async () => {},
  };
}

function missing(recording: Recording, request: EvaluationRequest, asked: RequestDescription): Evaluation {
  const reason = `${describeCandidate(asked)} was not recorded like this; ${nearest(recording, asked)}`;
  return notJudged(request, recording.sessions[0].device, reason);
}

/** The recorded request that differs least, and in what. */
function nearest({ evaluations }: Recording, asked: RequestDescription): string {
  const [first] = evaluations
    .map(({ request }) => ({ request, differing: differences(request, asked) }))
    .sort((a, b) => distance(a.differing) - distance(b.differing));
  if (!first) return 'the recording holds no evaluation';
  return `the nearest that was is ${describeCandidate(first.request)}, with ${first.differing.join('; ')}`;
}

/** Another candidate counts as further away than the same candidate with other options. */
const distance = (differing: readonly string[]): number =>
  differing.length + (differing.some((difference) => difference.startsWith('candidate:')) ? 0.5 : 0);
