import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { KernelFile } from '../../src/core/kernel.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu, type Script } from './fake-gpu.ts';
import {
  finding,
  kernel,
  nameOf,
  ofType,
  pattern,
  rung,
  runLoop,
  scriptedEvaluator,
  tile,
  type Verdict,
} from './fakes.ts';

const parameters = { TILE: { values: [16, 32, 64, 128], default: 32 }, DEPTH: { values: [1, 2], default: 1 } };
const ladder = (overrides: Partial<KernelFile> = {}) => [
  kernel('01_first', { parameters }),
  kernel('02_second', { parameters, remedies: ['bank-conflicts'], ...overrides }),
];

/** First the tile, then the rung, then the depth there, then a tile that does not help. */
const SCRIPT: Readonly<Record<string, Verdict>> = {
  '01_first TILE=32 DEPTH=1': { ns: 1000, findings: [finding('parallelism')] },
  '01_first TILE=64 DEPTH=1': { ns: 900, findings: [finding('bank-conflicts')] },
  '02_second TILE=64 DEPTH=1': { ns: 600, findings: [finding('divergence')] },
  '02_second TILE=64 DEPTH=2': { ns: 400, findings: [finding('latency-bound')] },
  '02_second TILE=128 DEPTH=2': { ns: 410 },
  '01_first TILE=64 DEPTH=2': { ns: 700 },
  '02_second TILE=32 DEPTH=2': { ns: 500 },
};
const patterns = [
  pattern('tile', 'parallelism', [tile(64)]),
  pattern('climb', 'bank-conflicts', [rung('02_second')]),
  pattern('depth', 'divergence', [
    { kind: 'parameter', parameter: 'DEPTH', from: 1, value: 2, expectedGain: 2, confidence: 1, reason: '' },
  ]),
  pattern('wider', 'latency-bound', [tile(128)]),
];

const search = async (options: Partial<OptimizeOptions> = {}, script = SCRIPT) => {
  const evaluator = scriptedEvaluator(script);
  const rungs = ladder();
  const { events, result } = await runLoop({
    evaluator,
    rungs,
    start: makeCandidate(rungs[0]!, { TILE: 32, DEPTH: 1 }),
    patterns,
    budgets: UNLIMITED,
    ablation: true,
    ...options,
  });
  return { events, result, judged: evaluator.judged, ablations: ofType(events, 'ablation') };
};

describe('the winner’s changes, undone one at a time', () => {
  it('are its rung, with its settings carried over, and what was changed since it got there', async () => {
    const { ablations, result, events } = await search();
    expect(result.best!.evaluation.id).toBe('e4');
    expect(ablations).toMatchObject([
      {
        best: 'e4',
        undone: { kind: 'rung', from: '02_second', to: '01_first' },
        candidate: { kernel: '01_first', parameters: { TILE: 64, DEPTH: 2 } },
        evaluationId: 'e7',
        ratio: 700 / 400,
      },
      {
        best: 'e4',
        undone: { kind: 'parameter', parameter: 'DEPTH', from: 2, to: 1 },
        candidate: { kernel: '02_second', parameters: { TILE: 64, DEPTH: 1 } },
        evaluationId: 'e3',
        ratio: 600 / 400,
      },
    ]);
    expect(events.findIndex(({ type }) => type === 'ablation')).toBeGreaterThan(
      events.findIndex(({ type }) => type === 'search-ended'),
    );
  });

  it('evaluate nothing anew that was predicted already', async () => {
    const { judged, result } = await search();
    expect(new Set(judged).size).toBe(judged.length);
    expect(judged.at(-1)).toBe('01_first TILE=64 DEPTH=2');
    expect(result.evaluationsUsed).toBe(7);
  });

  it('on the start’s own rung are its parameters alone', async () => {
    const { ablations } = await search({ rungs: ladder().slice(0, 1) });
    expect(ablations.map(({ undone, ratio }) => [undone, ratio])).toEqual([
      [{ kind: 'parameter', parameter: 'TILE', from: 64, to: 32 }, 1000 / 900],
    ]);
  });

  it('are a move of its own where the best is faster without one, and what comes of it is explained anew', async () => {
    const { result, ablations, events } = await search(
      {},
      {
        ...SCRIPT,
        '01_first TILE=64 DEPTH=2': { ns: 100, findings: [] },
        '01_first TILE=32 DEPTH=2': { ns: 700, findings: [] },
      },
    );
    expect(ablations[0]).toMatchObject({ best: 'e4', ratio: 0.25 });
    const undoing = ofType(events, 'move-proposed').find(({ pattern }) => pattern.id === 'ablation')!;
    expect(undoing).toMatchObject({ move: { kind: 'rung', to: '01_first' }, candidate: ablations[0]!.candidate });
    const decision = ofType(events, 'decision').find(({ iteration }) => iteration === undoing.iteration);
    expect(decision).toMatchObject({ decision: 'keep', ratio: 4, evaluationId: ablations[0]!.evaluationId });
    expect(result.best!.evaluation.id).toBe(ablations[0]!.evaluationId);
    expect(result.speedup).toBe(10);
    expect(ablations.map(({ best }) => best)).toContain(result.best!.evaluation.id);
    expect(ofType(events, 'search-ended')).toHaveLength(2);
  });

  it('say why there is no ratio: what is left is wrong', async () => {
    const { ablations } = await search(
      {},
      { ...SCRIPT, '01_first TILE=64 DEPTH=2': { status: 'wrong', reason: 'row 0' } },
    );
    expect(ablations[0]).toMatchObject({ evaluationId: 'e7', ratio: null, reason: 'wrong: row 0' });
  });

  it('say why there is no ratio: nothing is left that may run', async () => {
    const start = ladder()[0]!;
    const constrained = kernel('02_second', {
      parameters,
      remedies: ['bank-conflicts'],
      // Only what was found on the way up, and the best, hold: not TILE = 128 with DEPTH = 1.
      constraints: ['TILE <= 64 || DEPTH == 2'],
    });
    const { ablations } = await search(
      { rungs: [start, constrained] },
      {
        ...SCRIPT,
        '02_second TILE=128 DEPTH=2': { ns: 300 },
        '01_first TILE=128 DEPTH=2': { ns: 650 },
      },
    );
    expect(
      ablations.map(({ undone, evaluationId, ratio, reason }) => [
        undone.kind === 'rung' ? 'rung' : undone.parameter,
        evaluationId,
        ratio,
        reason,
      ]),
    ).toEqual([
      ['rung', 'e7', 650 / 300, undefined],
      ['TILE', 'e4', 400 / 300, undefined],
      ['DEPTH', null, null, 'without this change the others give no valid kernel'],
    ]);
  });

  it('go eight deep at most', async () => {
    const names = Array.from({ length: 10 }, (_, i) => `P${i}`);
    const wide = kernel('01_first', {
      parameters: Object.fromEntries(names.map((name) => [name, { values: [1, 2], default: 1 }])),
    });
    const evaluator = scriptedEvaluator((name) => ({ ns: 1000 * 0.9 ** (name.match(/=2/g)?.length ?? 0) }));
    const moves = names.map((name) => ({ ...tile(2), parameter: name, from: 1 }));
    const { ablations } = await search({
      evaluator,
      rungs: [wide],
      start: makeCandidate(wide, Object.fromEntries(names.map((name) => [name, 1]))),
      patterns: [pattern('all', 'bank-conflicts', moves)],
    });
    expect(ablations).toHaveLength(8);
    for (const { ratio } of ablations) expect(ratio).toBeCloseTo(1 / 0.9, 9);
  });

  it('are none where nothing was kept, and none where they are not wanted', async () => {
    const steady = { '*': { ns: 1000 } };
    expect((await search({}, steady)).ablations).toEqual([]);
    const unwanted = await search({ ablation: false });
    expect(unwanted.ablations).toEqual([]);
    expect(unwanted.result.evaluationsUsed).toBe(6);
  });

  it('are of the first workload, where there are several', async () => {
    const workloads = [
      { name: 'n1024', dimensions: { N: 1024 }, cache: 'hot' as const, weight: 1 },
      { name: 'n4096', dimensions: { N: 4096 }, cache: 'hot' as const, weight: 1 },
    ];
    const { ablations, events } = await search({ workloads });
    expect(ablations).toHaveLength(2);
    const { evaluation } = ofType(events, 'evaluation-finished').at(-1)!;
    expect(evaluation).toMatchObject({ id: ablations[0]!.evaluationId, workload: { name: 'n1024' } });
  });
});

describe('the budget of undoing', () => {
  it('in evaluations is what was kept for it, within the limit', async () => {
    const allowance = { ...NOTHING_KEPT, confirmation: 1, ablation: 2 };
    const { ablations, result, events } = await search({
      budgets: { ...UNLIMITED, allowance, maximumEvaluations: 7 },
    });
    expect(ablations.map(({ evaluationId }) => evaluationId)).toEqual(['e6', 'e3']);
    expect(result).toMatchObject({ stopReason: 'evaluations-spent', evaluationsUsed: 6 });
    expect(ofType(events, 'search-ended')[0]!.detail).toBe(
      '4 of 7 evaluations used; the rest is kept for confirmation 1, ablation 2',
    );
    // One is left to confirm what an undone change would have made the best.
    expect(ofType(events, 'budget').at(-1)).toMatchObject({ evaluationsUsed: 6, evaluationsLeft: 1 });
  });

  it('leaves what nothing was kept for unjudged, but for what was judged before', async () => {
    const { ablations, result } = await search({
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 4 },
    });
    expect(ablations).toMatchObject([
      { evaluationId: null, ratio: null, reason: expect.stringMatching(/^not judged: 4 of 4 evaluations used/) },
      { evaluationId: 'e3' },
    ]);
    expect(result.evaluationsUsed).toBe(4);
  });

  it.each([
    ['time', { maximumMinutes: 4 }],
    ['GPU time', { maximumGpuMinutes: 4 }],
    ['money', { maximumMoney: 4, gpuPricePerHour: 60 }],
  ])('is that of %s: known ones are said, others not judged', async (_name, limits) => {
    let nowMs = 0;
    const scripted = scriptedEvaluator(SCRIPT);
    const evaluator = {
      ...scripted,
      async evaluate(request: Parameters<typeof scripted.evaluate>[0]) {
        nowMs += 60_000;
        const evaluation = await scripted.evaluate(request);
        return { ...evaluation, device: CUDA, elapsedMs: { compile: 0, verify: 0, time: 0, total: 60_000 } };
      },
    };
    const { ablations, result } = await search({
      evaluator,
      clockMs: () => nowMs,
      budgets: { ...UNLIMITED, ...limits },
    });
    expect(ablations).toMatchObject([
      { evaluationId: null, ratio: null, reason: expect.stringMatching(/^not judged: 5\.0+ of 4 /) },
      { evaluationId: 'e3', ratio: 1.5 },
    ]);
    expect(result.evaluationsUsed).toBe(5);
  });
});

describe('measured', () => {
  const START = '01_first TILE=32';
  const BEST = '01_first TILE=64';
  const measured = async (script: Partial<Script> = {}) => {
    const evaluator = fakeGpu({ ns: { [START]: 1000, [BEST]: 500 }, sanitizer: 'clean', spreadShare: 0.1, ...script });
    const { events } = await runLoop({
      evaluator,
      device: CUDA,
      patterns: [pattern('p', 'bank-conflicts', [tile(64)])],
      ablation: true,
      budgets: UNLIMITED,
    });
    return { ablations: ofType(events, 'ablation'), requests: evaluator.requests, events };
  };

  it('stands beside the best again, ratio and interval turned round', async () => {
    const { ablations, requests, events } = await measured();
    const asked = requests.at(-1)!;
    expect([nameOf(asked.candidate), asked.tier, asked.against?.map(({ candidate }) => nameOf(candidate))]).toEqual([
      START,
      'accept',
      [BEST],
    ]);
    const { comparisons } = ofType(events, 'evaluation-finished').at(-1)!.evaluation;
    const { ratio, intervalRatio } = comparisons![0]!;
    // The best took half as long, so that undone it takes twice as long.
    expect(ratio).toBeCloseTo(0.5, 2);
    const [ablation] = ablations;
    expect(ablation).toMatchObject({ ratio: 1 / ratio, intervalRatio: [1 / intervalRatio[1], 1 / intervalRatio[0]] });
    expect(ablation!.intervalRatio![0]).toBeLessThan(ablation!.ratio!);
    expect(ablation!.intervalRatio![1]).toBeGreaterThan(ablation!.ratio!);
  });

  it('comes after the confirmation', async () => {
    const { events } = await measured();
    const order = events.map(({ type }) => type).filter((type) => type === 'confirmation' || type === 'ablation');
    expect(order).toEqual(['confirmation', 'ablation']);
  });

  it('says so where the best could not be measured in the same blocks', async () => {
    const { ablations } = await measured({
      losesBaseline: ({ against, candidate }) => against !== undefined && nameOf(candidate) === START,
    });
    expect(ablations).toMatchObject([{ ratio: null, reason: 'the best could not be measured in the same blocks' }]);
  });

  it('is of no winner that was refused', async () => {
    expect((await measured({ sanitizer: 'errors' })).ablations).toEqual([]);
  });

  it('is not begun on a device that failed', async () => {
    // The confirmation's two attempts.
    const { events, requests } = await measured({ deviceFailsAt: [4, 5] });
    expect(ofType(events, 'run-finished')[0]!.stopReason).toBe('device-failed');
    expect(requests).toHaveLength(5);
    expect(ofType(events, 'ablation')).toEqual([]);
  });
});
