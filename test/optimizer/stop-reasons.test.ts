import { describe, expect, it } from 'vitest';
import { WHILE_TIMED } from '../../src/core/evaluation.ts';
import type { OptimizeOptions } from '../../src/optimizer/optimize.ts';
import { NOTHING_KEPT, type RunEvent, STOP_REASONS, type StopReason, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { ofType, pattern, runLoop, scriptedAuthor, scriptedEvaluator, tile, written } from './fakes.ts';

type Options = Partial<OptimizeOptions> & Pick<OptimizeOptions, 'evaluator'>;

const patterns = [pattern('tiles', 'bank-conflicts', [tile(16), tile(64), tile(128)])];
const steady = () => scriptedEvaluator({ '*': { ns: 1000 } });
const MINUTE_MS = 60_000;
const onGpu = (phases: { compile: number; verify: number; time: number; total: number }) => ({
  device: CUDA,
  evaluator: fakeGpu({ ns: {}, elapsedMs: phases }),
});

interface Scenario {
  options: () => Options;
  /** What the end has to say of it. */
  detail: string | RegExp;
  evaluations: number;
}

/** One run for each reason; the type refuses a reason without one, and `it.each` walks the reasons. */
const SCENARIOS: Readonly<Record<StopReason, Scenario>> = {
  'goal-reached': {
    options: () => ({
      evaluator: scriptedEvaluator({ '*': { ns: 1000 }, '01_first TILE=16': { ns: 400 } }),
      goal: { kind: 'speed-up', ratio: 2.5, text: '2.5x' },
    }),
    detail: 'the goal 2.5x is reached',
    evaluations: 3,
  },
  'near-attainable': {
    options: () => ({ evaluator: scriptedEvaluator({ '*': { ns: 1050, attainableNs: 1000 } }) }),
    detail: 'predicted time is 1.05 times the attainable bound',
    evaluations: 1,
  },
  'no-gain': {
    // The second is faster, so only what follows it counts.
    options: () => ({
      evaluator: scriptedEvaluator({ '*': { ns: 1000 }, '01_first TILE=16': { ns: 500 } }),
      patience: 2,
    }),
    detail: '2 evaluations in a row gave no better kernel; --patience is 2',
    evaluations: 5,
  },
  'evaluations-spent': {
    options: () => ({ evaluator: steady(), budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 3 } }),
    detail: '3 of 3 evaluations used',
    evaluations: 3,
  },
  'time-spent': {
    options: () => {
      let nowMs = 0;
      const evaluator = scriptedEvaluator(() => {
        nowMs += 0.75 * MINUTE_MS;
        return { ns: 1000 };
      });
      return { evaluator, clockMs: () => nowMs, budgets: { ...UNLIMITED, maximumMinutes: 1.5 } };
    },
    detail: '1.5 of 1.5 minutes used',
    evaluations: 2,
  },
  'gpu-time-spent': {
    // 20 s a piece, of which 8 s are compiled on the host: 36 s are reached with the third.
    options: () => ({
      ...onGpu({ compile: 8_000, verify: 4_000, time: 5_000, total: 20_000 }),
      budgets: { ...UNLIMITED, maximumGpuMinutes: 0.6 },
    }),
    detail: '0.6 of 0.6 minutes of GPU time used',
    evaluations: 3,
  },
  'money-spent': {
    // 6 minutes a piece at 3 an hour are 0.30; a candidate that is begun is screened and measured.
    options: () => ({
      ...onGpu({ compile: 4 * MINUTE_MS, verify: 0, time: 0, total: 10 * MINUTE_MS }),
      budgets: { ...UNLIMITED, maximumMoney: 0.5, gpuPricePerHour: 3 },
    }),
    detail: '0.90 of 0.5 spent on GPU time',
    evaluations: 3,
  },
  'no-moves-left': {
    options: () => ({ evaluator: steady() }),
    detail: 'every move suggested by the findings of the best candidate has been tried',
    evaluations: 4,
  },
  'space-exhausted': {
    options: () => ({ evaluator: steady(), strategy: 'exhaustive' }),
    detail: 'all 4 configurations have been evaluated',
    evaluations: 4,
  },
  'tokens-spent': {
    options: () => ({
      evaluator: steady(),
      author: scriptedAuthor(written('a'), { kind: 'ended', reason: 'tokens-spent', detail: '9 of 9 tokens used' }),
    }),
    detail: '9 of 9 tokens used',
    // The start, what was written, and its three other settings.
    evaluations: 5,
  },
  'cost-spent': {
    options: () => ({
      evaluator: steady(),
      author: scriptedAuthor({ kind: 'ended', reason: 'cost-spent', detail: '2 of 2 spent on tokens' }),
    }),
    detail: '2 of 2 spent on tokens',
    evaluations: 1,
  },
  'author-stuck': {
    options: () => ({
      evaluator: steady(),
      author: scriptedAuthor({ kind: 'refused', code: 'no-answer', reason: 'prose' }),
    }),
    detail: 'scripted gets no further: 5 attempts in a row were refused or no faster',
    evaluations: 1,
  },
  'author-failed': {
    options: () => ({
      evaluator: steady(),
      author: scriptedAuthor({ kind: 'failed', code: 'server-error', reason: 'HTTP 500' }),
    }),
    detail: 'scripted gave no answer 4 times in a row: HTTP 500',
    evaluations: 1,
  },
  'author-caught': {
    options: () => ({
      evaluator: scriptedEvaluator((name) =>
        name.startsWith('01_first') ? { ns: 1000 } : { status: 'wrong', failedCheck: WHILE_TIMED },
      ),
      author: scriptedAuthor(written('a'), written('b'), written('c')),
    }),
    detail: '2 kernels of scripted were right when verified and wrong when timed',
    evaluations: 3,
  },
  interrupted: {
    options: () => {
      const controller = new AbortController();
      const evaluator = scriptedEvaluator((name) => {
        if (name === '01_first TILE=64') controller.abort();
        return { ns: 1000 };
      });
      return { evaluator, signal: controller.signal };
    },
    detail: 'stopped by the user',
    evaluations: 2,
  },
  'start-failed': {
    options: () => ({ evaluator: scriptedEvaluator({ '*': { status: 'wrong', reason: 'off by one' } }) }),
    detail: 'the start is wrong: off by one',
    evaluations: 1,
  },
  'device-failed': {
    options: () => ({
      evaluator: scriptedEvaluator((name) =>
        name === '01_first TILE=32' ? { ns: 1000 } : { status: 'device-failed', reason: 'Xid 79' },
      ),
    }),
    detail: 'the device failed twice in a row: Xid 79',
    evaluations: 3,
  },
  'goal-refused': {
    options: () => ({
      evaluator: steady(),
      vetoBound: { ns: 600, arithmetic: '600 FLOP' },
      goal: { kind: 'speed-up', ratio: 2, text: '2x' },
    }),
    detail: 'The goal 2x cannot be reached by any kernel',
    evaluations: 1,
  },
  failed: {
    options: () => ({
      evaluator: scriptedEvaluator((name) => {
        if (name === '01_first TILE=32') return { ns: 1000 };
        throw new TypeError('a bug of the evaluator');
      }),
    }),
    detail: 'a bug of the evaluator',
    evaluations: 1,
  },
};

/** Ends that are an error of the caller or a bug: `optimize` throws, and the log says so all the same. */
const THROWN: readonly StopReason[] = ['goal-refused', 'failed'];

/** Ends after which the log may go on as if nothing had happened. */
const WITHOUT_SEARCH_ENDED: readonly StopReason[] = [...THROWN, 'interrupted'];

describe('every stop reason', () => {
  it.each(STOP_REASONS)('%s', async (reason) => {
    const { options, detail, evaluations } = SCENARIOS[reason];
    const events: RunEvent[] = [];
    const run = runLoop({
      patterns,
      budgets: UNLIMITED,
      emit: (event) => void events.push(event),
      ...options(),
    });
    if (THROWN.includes(reason)) await expect(run).rejects.toThrow(detail);
    else expect((await run).result).toMatchObject({ stopReason: reason, evaluationsUsed: evaluations });
    expect(ofType(events, 'evaluation-finished')).toHaveLength(evaluations);
    expect(ofType(events, 'search-ended').map((event) => event.reason)).toEqual(
      WITHOUT_SEARCH_ENDED.includes(reason) ? [] : [reason],
    );
    expect(ofType(events, 'run-finished')).toMatchObject([
      { stopReason: reason, detail: expect.stringMatching(escaped(detail)) },
    ]);
    expect(events.at(-1)!.type).toBe('run-finished');
  });

  it('has a run here', () => {
    expect(Object.keys(SCENARIOS).sort()).toEqual([...STOP_REASONS].sort());
  });
});

const escaped = (text: string | RegExp): RegExp =>
  typeof text === 'string' ? new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) : text;

describe('a budget that is spent before the start', () => {
  it.each([
    ['evaluations-spent', { maximumEvaluations: 0 }],
    ['time-spent', { maximumMinutes: 0 }],
    ['gpu-time-spent', { maximumGpuMinutes: 0 }],
    ['money-spent', { maximumMoney: 0, gpuPricePerHour: 1 }],
  ] as const)('%s: nothing is evaluated', async (reason, limits) => {
    const evaluator = steady();
    const { result } = await runLoop({ evaluator, patterns, budgets: { ...UNLIMITED, ...limits } });
    expect(result).toMatchObject({ stopReason: reason, evaluationsUsed: 0 });
    expect(result.detail).toMatch(/^the budget is too small to evaluate the start: 0(\.0+)? of 0 /);
    expect(evaluator.judged).toEqual([]);
  });

  it('is none where money has no price', async () => {
    const budgets = { ...UNLIMITED, maximumMoney: 0 };
    const { result } = await runLoop({ evaluator: steady(), patterns, budgets });
    expect(result.stopReason).toBe('no-moves-left');
  });
});
