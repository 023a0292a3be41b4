import { EVENT_SCHEMA_VERSION, type RecordedEvent, type RunEvent } from '../../src/store/events.ts';
import { measuredEvaluation, measurementOf, twoContenders } from './measured-evaluation.ts';
import { sampleRun } from './sample-run.ts';

const screened = (id: string, ns: number) => {
  const evaluation = measuredEvaluation(id, ns);
  const measurement = measurementOf(twoContenders(ns, ns * 1.4), 'candidate', 'screen');
  return { ...evaluation, timing: { ...evaluation.timing!, measurement } };
};

const finished = (iteration: number, evaluation: ReturnType<typeof measuredEvaluation>): RunEvent => ({
  type: 'evaluation-finished',
  iteration,
  evaluation,
  sources: {},
});

const started = sampleRun[0] as RunEvent & { type: 'run-started' };
const proposed = sampleRun[3] as RunEvent & { type: 'move-proposed' };

/** A measured run: a move that is screened, accepted and kept, then confirmed with this outcome. */
export function measuredRun(outcome: 'accepted' | 'accepted, unsanitized' | 'refused'): RecordedEvent[] {
  const isRefused = outcome === 'refused';
  const events: RunEvent[] = [
    { ...started, device: { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200' } },
    finished(0, measuredEvaluation('e1', 100_000)),
    {
      type: 'decision',
      iteration: 0,
      evaluationId: 'e1',
      decision: 'keep',
      comparedWith: null,
      ratio: null,
      reason: '',
    },
    proposed,
    finished(1, screened('e2', 71_000)),
    finished(1, measuredEvaluation('e3', 71_400)),
    {
      type: 'decision',
      iteration: 1,
      evaluationId: 'e3',
      decision: 'keep',
      comparedWith: 'e1',
      ratio: 1.41,
      verdict: 'faster',
      intervalRatio: [1.39, 1.43],
      reason: 'faster',
    },
    finished(1, measuredEvaluation('e4', 71_500)),
    {
      type: 'confirmation',
      evaluationId: 'e4',
      candidate: { id: 'hash-of-e3', kernel: '03_rows', parameters: {} },
      ratio: isRefused ? 1.004 : 1.4,
      medianNs: 71_500,
      verdict: isRefused ? 'same' : 'faster',
      intervalRatio: isRefused ? [0.998, 1.009] : [1.38, 1.42],
      sanitizer: 'clean',
      outcome,
      reason: isRefused ? 'same: measured 1.004×' : 'measured',
    },
    { type: 'run-finished', stopReason: 'no-moves-left', detail: 'done', best: isRefused ? 'e1' : 'e3', speedup: 1.4 },
  ];
  return events.map((event, index) => ({
    schemaVersion: EVENT_SCHEMA_VERSION,
    sequence: index + 1,
    time: '2025-11-20T18:41:00.000Z',
    ...event,
  }));
}
