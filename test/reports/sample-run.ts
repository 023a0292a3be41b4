import type { Evaluation } from '../../src/core/evaluation.ts';
import type { Finding } from '../../src/core/finding.ts';
import { EVENT_SCHEMA_VERSION, NOTHING_KEPT, type RecordedEvent, type RunEvent } from '../../src/store/events.ts';

const serial: Finding = {
  id: 'serial-sections',
  title: 'Serial sections',
  estimatedSpeedup: 2.5,
  arithmetic: '1 ÷ 0.4 = 2.5',
  evidence: [
    { counter: 'active lanes per instruction', value: 9.31, threshold: 16, comparison: 'below', where: 'attention' },
  ],
  advice: 'share the row',
};
const shared: Finding = {
  id: 'bank-conflicts',
  title: 'Bank conflicts',
  estimatedSpeedup: 1.2,
  arithmetic: '12 ÷ 10 = 1.2',
  evidence: [{ counter: 'wavefronts per request', value: 3, unit: 'wavefronts', threshold: 1.5, comparison: 'above' }],
  advice: 'pad the rows',
};

export function evaluation(
  id: string,
  kernel: string,
  parameters: Record<string, number>,
  ns: number | Partial<Evaluation>,
  findings: Finding[] = [],
): Evaluation {
  return {
    schemaVersion: 1,
    id,
    candidate: { id: `hash-of-${id}`, kernel, folder: `problems/attention/${kernel}`, parameters },
    device: { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' },
    workload: { name: 'b1h1s64d64', dimensions: { B: 1, H: 1, S: 64, D: 64 } },
    status: 'passed',
    findings,
    elapsedMs: { compile: 0, verify: 0, time: 0, total: 0 },
    ...(typeof ns === 'number'
      ? {
          timing: {
            kind: 'predicted',
            medianNs: ns,
            intervalNs: [ns * 0.7, ns * 1.5],
            vetoNs: 1200,
            attainableNs: 4300,
            bindingResource: 'issue',
          },
        }
      : ns),
  };
}

const events: RunEvent[] = [
  {
    type: 'run-started',
    problem: { name: 'attention', folder: 'problems/attention' },
    start: { id: 'hash-of-e1', kernel: '02_tiled', parameters: { BLOCK_M: 32 } },
    workload: { name: 'b1h1s64d64', dimensions: { B: 1, H: 1, S: 64, D: 64 }, cache: 'hot' },
    device: { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' },
    workloads: [{ name: 'b1h1s64d64', dimensions: { B: 1, H: 1, S: 64, D: 64 }, cache: 'hot', weight: 1 }],
    seed: 7,
    strategy: 'guided',
    budgets: {
      maximumEvaluations: 4,
      allowance: NOTHING_KEPT,
      maximumMinutes: null,
      maximumGpuMinutes: null,
      maximumMoney: null,
      gpuPricePerHour: null,
    },
    goal: { kind: 'speed-up', ratio: 10, text: '10x' },
    priors: { patterns: [], costs: [] },
    request: { target: '/home/user/attention' },
    environment: { node: '24.0.0', compiler: 'clang 21.1.0' },
  },
  {
    type: 'evaluation-finished',
    iteration: 0,
    evaluation: evaluation('e1', '02_tiled', { BLOCK_M: 32 }, 100_000, [serial, shared]),
    sources: {},
  },
  {
    type: 'decision',
    iteration: 0,
    evaluationId: 'e1',
    decision: 'keep',
    comparedWith: null,
    ratio: null,
    reason: 'the start',
  },
  {
    type: 'move-proposed',
    iteration: 1,
    moveKey: 'warp-reductions/03_rows',
    pattern: { id: 'warp-reductions', title: 'Reduce across lanes' },
    finding: {
      id: 'serial-sections',
      evaluationId: 'e1',
      estimatedSpeedup: 2.5,
      evidence: 'active lanes per instruction 9.31, below 16',
    },
    move: { kind: 'rung', from: '02_tiled', to: '03_rows' },
    candidate: { id: 'hash-of-e2', kernel: '03_rows', parameters: { BLOCK_M: 32, PAD: 0 } },
    expectedGain: 2.5,
    confidence: 0.8,
    reason: 'lanes share the reduction',
  },
  {
    type: 'evaluation-finished',
    iteration: 1,
    evaluation: evaluation('e2', '03_rows', { BLOCK_M: 32, PAD: 0 }, 50_000, [shared]),
    sources: {},
  },
  {
    type: 'decision',
    iteration: 1,
    evaluationId: 'e2',
    decision: 'keep',
    comparedWith: 'e1',
    ratio: 2,
    reason: 'predicted 2.00× faster than e1',
  },
  {
    type: 'move-proposed',
    iteration: 2,
    moveKey: 'pad/03_rows.PAD',
    pattern: { id: 'pad', title: 'Pad rows' },
    finding: {
      id: 'bank-conflicts',
      evaluationId: 'e2',
      estimatedSpeedup: 1.2,
      evidence: 'wavefronts per request 3, above 1.5',
    },
    move: { kind: 'parameter', kernel: '03_rows', parameter: 'PAD', from: 0, to: 8 },
    candidate: { id: 'hash-of-e3', kernel: '03_rows', parameters: { BLOCK_M: 32, PAD: 8 } },
    expectedGain: 1.2,
    confidence: 0.7,
    reason: 'rows fall on other banks',
  },
  {
    type: 'evaluation-finished',
    iteration: 2,
    evaluation: evaluation(
      'e3',
      '03_rows',
      { BLOCK_M: 32, PAD: 8 },
      { status: 'wrong', reason: 'O[0, 0, 3, 1] is 2, should be 1' },
    ),
    sources: {},
  },
  {
    type: 'decision',
    iteration: 2,
    evaluationId: 'e3',
    decision: 'revert',
    comparedWith: 'e2',
    ratio: null,
    reason: 'wrong: O[0, 0, 3, 1] is 2, should be 1',
  },
  {
    type: 'move-abandoned',
    iteration: 2,
    moveKey: 'pad/03_rows.PAD',
    failureCount: 3,
    why: 'failed',
    reason: '3 attempts in a row did not help',
  },
  {
    type: 'advice',
    iteration: 2,
    pattern: { id: 'tensor-cores', title: 'Tensor cores' },
    finding: { id: 'bank-conflicts', evaluationId: 'e2' },
    text: 'use mma.sync | wgmma',
  },
  { type: 'run-finished', stopReason: 'no-moves-left', detail: 'every move has been tried', best: 'e2', speedup: 2 },
];

/** A small finished run: one kept rung, one wrong parameter move, one piece of advice. */
export const sampleRun: RecordedEvent[] = events.map((event, index) => ({
  schemaVersion: EVENT_SCHEMA_VERSION,
  sequence: index + 1,
  time: `2025-11-20T18:41:${String(index).padStart(2, '0')}.000Z`,
  ...event,
}));
