import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { rooflineOf } from '../../src/app/bounds.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { ProblemFile } from '../../src/core/problem.ts';
import type { ReadSource } from '../../src/reports/view/source-diffs.ts';
import {
  type CandidateReference,
  EVENT_SCHEMA_VERSION,
  type MoveRecord,
  NOTHING_KEPT,
  type RecordedEvent,
  type RunEvent,
  UNLIMITED,
} from '../../src/store/events.ts';
import { readRecording } from '../../src/store/recording.ts';

const RECORDINGS = path.resolve(import.meta.dirname, '../fixtures/recordings');
const ATTENTION = path.join(RECORDINGS, 'attention');

const recording = readRecording(path.join(RECORDINGS, 'h200-attention-optimize.jsonl.gz'));
const problem = JSON.parse(readFileSync(path.join(ATTENTION, 'problem.json'), 'utf8')) as ProblemFile;

const texts = new Map<string, string>();

/** The rung's source as it was when it was recorded. */
function sourcesOf({ candidate }: Evaluation): Record<string, string> {
  const text = readFileSync(path.join(ATTENTION, candidate.kernel, 'kernel.cu'), 'utf8');
  const hash = createHash('sha256').update(text).digest('hex');
  texts.set(hash, text);
  return { 'kernel.cu': hash };
}

const reference = ({ candidate }: Evaluation): CandidateReference => ({
  id: candidate.id,
  kernel: candidate.kernel,
  parameters: candidate.parameters,
});

function moveOf(best: CandidateReference, { kernel, parameters }: CandidateReference): MoveRecord {
  if (best.kernel !== kernel) return { kind: 'rung', from: best.kernel, to: kernel };
  const changes = Object.entries(parameters)
    .filter(([name, value]) => best.parameters[name] !== value)
    .map(([parameter, to]) => ({ parameter, from: best.parameters[parameter]!, to }));
  return { kind: 'parameters', kernel, changes };
}

const session = recording.sessions[0]!;
/** Up to the first confirmation: what follows it has no place in this log. */
const confirmedAt = recording.evaluations.findIndex(({ request }) => request.blocks !== null);
const evaluations = recording.evaluations.slice(0, confirmedAt + 1).map(({ evaluation }) => evaluation);
const workload = { name: 'b1h8s512d64', dimensions: evaluations[0]!.workload.dimensions, cache: 'hot' } as const;

const started: RunEvent = {
  type: 'run-started',
  problem: { name: 'attention', folder: 'problems/attention' },
  start: reference(evaluations[0]!),
  workload,
  workloads: [{ ...workload, weight: 1 }],
  device: session.device,
  seed: 1,
  strategy: 'guided',
  budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: evaluations.length, gpuPricePerHour: 3.5 },
  goal: null,
  priors: { patterns: [], costs: [] },
  request: { target: 'problems/attention' },
  roofline: rooflineOf(problem, workload, session.spec),
  environment: session.environment,
};

/** The log around evaluations that were measured on an H200: they were screened, and measured longer where it paid. */
function logOf(): RunEvent[] {
  const events: RunEvent[] = [started];
  let best = evaluations[0]!;
  let iteration = 0;
  evaluations.forEach((evaluation, index) => {
    const isLonger = index > 0 && evaluations[index - 1]!.candidate.id === evaluation.candidate.id;
    const isConfirmation = index === evaluations.length - 1;
    if (index > 0 && !isLonger && !isConfirmation) {
      iteration += 1;
      const move = moveOf(reference(best), reference(evaluation));
      events.push({
        type: 'move-proposed',
        iteration,
        moveKey: `move-${iteration}`,
        pattern: { id: 'explore', title: 'Every setting near the best' },
        finding: { id: 'latency-bound', evaluationId: best.id, estimatedSpeedup: 1.2, evidence: 'as recorded' },
        move,
        candidate: reference(evaluation),
        expectedGain: 1.2,
        confidence: 0.5,
        reason: 'as recorded',
      });
    }
    events.push({ type: 'evaluation-finished', iteration, evaluation, sources: sourcesOf(evaluation) });
    const comparison = evaluation.comparisons?.[0];
    if (isConfirmation) {
      events.push({
        type: 'confirmation',
        evaluationId: evaluation.id,
        candidate: reference(evaluation),
        ratio: comparison!.ratio,
        medianNs: evaluation.timing!.medianNs,
        verdict: comparison!.verdict,
        intervalRatio: comparison!.intervalRatio,
        sanitizer: evaluation.sanitizer?.outcome ?? null,
        outcome: 'accepted',
        reason: 'faster on fresh blocks',
      });
      return;
    }
    if (evaluations[index + 1]!.candidate.id === evaluation.candidate.id) return;
    const decision = index === 0 || comparison?.verdict === 'faster' ? 'keep' : 'revert';
    events.push({
      type: 'decision',
      iteration,
      evaluationId: evaluation.id,
      decision,
      comparedWith: index === 0 ? null : best.id,
      ratio: comparison?.ratio ?? null,
      ...(comparison && { verdict: comparison.verdict, intervalRatio: comparison.intervalRatio }),
      reason: comparison ? `measured ${comparison.ratio.toFixed(3)}× the speed of ${best.id}` : 'the start',
    });
    if (decision === 'keep') best = evaluation;
  });
  return [
    ...events,
    {
      type: 'run-finished',
      stopReason: 'evaluations-spent',
      detail: 'every evaluation recorded up to the confirmation',
      best: best.id,
      speedup: evaluations.at(-1)!.comparisons![0]!.ratio,
    },
  ];
}

/** A run of attention whose every evaluation was measured on an H200. */
export const recordedRun: RecordedEvent[] = logOf().map((event, index) => ({
  schemaVersion: EVENT_SCHEMA_VERSION,
  sequence: index + 1,
  time: session.time,
  ...event,
}));

/** Its sources. */
export const readRecordedSource: ReadSource = (hash) => texts.get(hash);

/** The speed-up its confirmation measured, as reports print it. */
export const RECORDED_SPEEDUP = evaluations.at(-1)!.comparisons![0]!.ratio.toFixed(2);
