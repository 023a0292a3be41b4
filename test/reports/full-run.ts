import type { Evaluation } from '../../src/core/evaluation.ts';
import {
  EVENT_SCHEMA_VERSION,
  NOTHING_KEPT,
  type RecordedEvent,
  type RunEvent,
  UNLIMITED,
} from '../../src/store/events.ts';
import { evaluation, sampleRun } from './sample-run.ts';

/** Geometric mean of 2, and twice 4: weights 1 and 2. */
const MEAN_RATIO = (2 * 4 * 4) ** (1 / 3);

const OTHER = { name: 'b4h1s64d64', dimensions: { B: 4, H: 1, S: 64, D: 64 }, cache: 'hot' } as const;

const [started, ...rest] = sampleRun.map(
  ({ schemaVersion: _v, sequence: _s, time: _t, ...event }) => event as RunEvent,
);
const [startFinished, startDecided, rungProposed, rungFinished, rungDecided, padProposed, padFinished, ...end] = rest;

const onOther = (id: string, kernel: string, ns: number): Evaluation => ({
  ...evaluation(id, kernel, kernel === '02_tiled' ? { BLOCK_M: 32 } : { BLOCK_M: 32, PAD: 0 }, ns),
  workload: { name: OTHER.name, dimensions: OTHER.dimensions },
});

const withCandidate = (event: Evaluation, id: string): Evaluation => ({
  ...event,
  candidate: { ...event.candidate, id },
});

const ranked = (iteration: number, moves: readonly [key: string, value: number][]): RunEvent => ({
  type: 'options-ranked',
  iteration,
  share: 1.5,
  omitted: 2,
  options: moves.map(([moveKey, value], index) => ({
    moveKey,
    pattern: { id: 'pad', title: 'Pad rows' },
    finding: { id: 'bank-conflicts', evaluationId: 'e1' },
    move: { kind: 'parameter', kernel: '03_rows', parameter: 'PAD', from: 0, to: 8 },
    expectedGain: 1.4,
    confidence: 0.5,
    evidence: { attempts: 4, kept: 1 },
    cost: { evaluations: 1, compile: 0.2 },
    value,
    arithmetic: `(1.40 − 1) × 0.50 ÷ (1.0 + 0.2) = ${value.toFixed(3)}`,
    used: 1,
    failures: 0,
    state: index === 0 ? 'next' : 'open',
  })),
});

/** Sources of the two rungs, as `objects/` would hold them. */
export const SOURCES: Readonly<Record<string, string>> = {
  'hash-a': 'int a;\nint b;\nint c;\n',
  'hash-b': 'int a;\nint two;\nint c;\nint d;\n',
};
export const readSource = (hash: string): string | undefined => SOURCES[hash];

const withSources = (event: RunEvent | undefined, hash: string): RunEvent =>
  ({ ...event, sources: { 'kernel.cu': hash } }) as RunEvent;

const events: RunEvent[] = [
  {
    ...(started as RunEvent & { type: 'run-started' }),
    workloads: [
      { name: 'b1h1s64d64', dimensions: { B: 1, H: 1, S: 64, D: 64 }, cache: 'hot', weight: 1 },
      { ...OTHER, weight: 2 },
    ],
    budgets: {
      ...UNLIMITED,
      allowance: NOTHING_KEPT,
      maximumEvaluations: 20,
      maximumMinutes: 10,
      maximumMoney: 5,
      gpuPricePerHour: 3.5,
    },
    roofline: {
      workload: 'b1h1s64d64',
      flop: 1e6,
      minimumFlop: 9e5,
      minimumReadBytes: 1e4,
      veto: { flopPerSecond: 1e14, computeSource: 'fp16 tensor', bytesPerSecond: 3e11, memorySource: 'DRAM datasheet' },
      attainable: { flopPerSecond: 8e13, computeSource: 'fp16 tensor', bytesPerSecond: 2e11, memorySource: 'DRAM' },
    },
  },
  withSources(startFinished, 'hash-a'),
  {
    type: 'evaluation-finished',
    iteration: 0,
    evaluation: withCandidate(onOther('e1b', '02_tiled', 400_000), 'hash-of-e1'),
    sources: {},
  },
  startDecided!,
  ranked(0, [
    ['warp-reductions/03_rows', 0.167],
    ['pad/03_rows.PAD', 0.1],
  ]),
  rungProposed!,
  withSources(rungFinished, 'hash-b'),
  {
    type: 'evaluation-finished',
    iteration: 1,
    evaluation: withCandidate(onOther('e2b', '03_rows', 100_000), 'hash-of-e2'),
    sources: {},
  },
  {
    ...(rungDecided as RunEvent & { type: 'decision' }),
    ratio: MEAN_RATIO,
    perWorkload: [
      { workload: 'b1h1s64d64', weight: 1, evaluationId: 'e2', ratio: 2, vetoes: false },
      { workload: OTHER.name, weight: 2, evaluationId: 'e2b', ratio: 4, vetoes: false },
    ],
  },
  {
    type: 'budget',
    iteration: 1,
    evaluationsUsed: 4,
    evaluationsLeft: 16,
    minutesUsed: 1.5,
    minutesLeft: 8.5,
    ledger: { compileMs: 0, verifyMs: 0, timeMs: 0, gpuMs: 0, money: 0 },
  },
  ranked(1, [['pad/03_rows.PAD', 0.1]]),
  padProposed!,
  padFinished!,
  {
    type: 'decision',
    iteration: 2,
    evaluationId: 'e3',
    decision: 'revert',
    comparedWith: 'e2',
    ratio: null,
    perWorkload: [{ workload: OTHER.name, weight: 2, evaluationId: 'e3', ratio: 0.9, vetoes: true }],
    reason: 'vetoed',
  },
  ...end.filter(({ type }) => type === 'move-abandoned' || type === 'advice'),
  {
    type: 'evaluation-finished',
    iteration: 2,
    evaluation: evaluation('e4', '03_rows', { BLOCK_M: 64, PAD: 0 }, 65_000),
    sources: {},
  },
  {
    type: 'ablation',
    best: 'e2',
    undone: { kind: 'parameter', parameter: 'BLOCK_M', from: 32, to: 64 },
    candidate: { id: 'hash-of-e4', kernel: '03_rows', parameters: { BLOCK_M: 64, PAD: 0 } },
    evaluationId: 'e4',
    ratio: 1.3,
    intervalRatio: [1.2, 1.4],
  },
  {
    type: 'ablation',
    best: 'e2',
    undone: { kind: 'rung', from: '03_rows', to: '02_tiled' },
    candidate: { id: 'hash-of-e1', kernel: '02_tiled', parameters: { BLOCK_M: 32 } },
    evaluationId: 'e1',
    ratio: 3.17,
  },
  {
    type: 'ablation',
    best: 'e1',
    undone: { kind: 'parameter', parameter: 'STALE', from: 1, to: 0 },
    candidate: { id: 'x', kernel: '03_rows', parameters: {} },
    evaluationId: null,
    ratio: 9,
  },
  {
    type: 'evaluation-finished',
    iteration: 2,
    evaluation: withCandidate(
      { ...onOther('e5', '03_rows', 300_000), workload: { name: 'b8h1s64d64', dimensions: {} } },
      'hash-of-e2',
    ),
    sources: {},
  },
  {
    type: 'workload-advice',
    candidate: 'hash-of-e2',
    dimensions: ['B', 'H'],
    rows: [
      {
        product: 1,
        workload: 'b1h1s64d64',
        evaluationId: 'e2',
        kind: 'predicted',
        medianNs: 50_000,
        attainableNs: 4300,
        attainedRatio: 0.086,
      },
      {
        product: 8,
        workload: 'b8h1s64d64',
        evaluationId: 'e5',
        kind: 'predicted',
        medianNs: 300_000,
        attainableNs: 34_000,
        attainedRatio: 0.113,
      },
    ],
    saturatedAt: null,
    text: 'the workload under-fills the device: at B·H = 1 it reaches predicted 9 % of attainable',
  },
  end.at(-1)!,
];

const record = (list: readonly RunEvent[]): RecordedEvent[] =>
  list.map((event, index) => ({
    schemaVersion: EVENT_SCHEMA_VERSION,
    sequence: index + 1,
    time: '2025-11-20T18:41:00.000Z',
    ...event,
  }));

/** A run over two workloads with everything a log can hold: options, a veto, ablation, advice, sources, money. */
export const fullRun: RecordedEvent[] = record(
  events.map((event) => (event.type === 'run-finished' ? { ...event, speedup: MEAN_RATIO } : event)),
);

export const HOSTILE = `"'><script>document.title='taken'</script></style><img src=x onerror=alert(1)>`;

/** The same with text in every name and reason that tries to be markup. */
export const hostileRun: RecordedEvent[] = JSON.parse(
  JSON.stringify(fullRun, (key, value) => {
    const isFree = [
      'reason',
      'text',
      'evidence',
      'title',
      'advice',
      'arithmetic',
      'detail',
      'kernel',
      'moveKey',
      'parameter',
      'counter',
    ];
    if (typeof value === 'string' && isFree.includes(key)) return `${value} ${HOSTILE}`;
    return key === 'environment' ? { ...value, [HOSTILE]: HOSTILE } : value;
  }),
);

/** Sources that try to end the element they lie in. */
export const readHostileSource = (hash: string): string | undefined => {
  const text = SOURCES[hash];
  return text === undefined ? undefined : text.replaceAll(';', `; // </pre></details>${HOSTILE}`);
};
