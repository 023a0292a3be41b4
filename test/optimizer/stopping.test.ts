import { describe, expect, test } from 'vitest';
import { parseGoal } from '../../src/optimizer/goal.ts';
import { NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { finding, kernel, ofType, pattern, runLoop, scriptedEvaluator, tile } from './fakes.ts';

const everyTile = pattern('tiles', 'bank-conflicts', [tile(16), tile(64), tile(128)]);

describe('every stop reason', () => {
  test('goal-reached, as a speed-up', async () => {
    const evaluator = scriptedEvaluator({ '01_first TILE=32': { ns: 1000 }, '01_first TILE=16': { ns: 500 } });
    const { result } = await runLoop({ evaluator, patterns: [everyTile], goal: parseGoal('2x') });
    expect(result).toMatchObject({ stopReason: 'goal-reached', speedup: 2, evaluationsUsed: 3 });
  });

  test('goal-reached, as a time, by the start itself', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 900 } });
    const { result } = await runLoop({ evaluator, patterns: [everyTile], goal: parseGoal('1us') });
    expect(result).toMatchObject({ stopReason: 'goal-reached', evaluationsUsed: 1 });
  });

  test('near-attainable: within 10 % of the attainable bound', async () => {
    const near = scriptedEvaluator({ '*': { ns: 1100, attainableNs: 1000 } });
    expect((await runLoop({ evaluator: near, patterns: [everyTile] })).result.stopReason).toBe('near-attainable');
    const notYet = scriptedEvaluator({ '*': { ns: 1101, attainableNs: 1000 } });
    expect((await runLoop({ evaluator: notYet, patterns: [everyTile] })).result.stopReason).not.toBe('near-attainable');
  });

  test('evaluations-spent, the start counted', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const budgets = { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 2 };
    const { result, events } = await runLoop({ evaluator, patterns: [everyTile], budgets });
    expect(result).toMatchObject({ stopReason: 'evaluations-spent', evaluationsUsed: 2 });
    expect(evaluator.judged).toHaveLength(2);
    expect(ofType(events, 'budget').map(({ evaluationsLeft }) => evaluationsLeft)).toEqual([1, 0]);
  });

  test('time-spent, checked before each evaluation', async () => {
    let nowMs = 0;
    const evaluator = scriptedEvaluator(() => {
      nowMs += 40_000;
      return { ns: 1000 };
    });
    const budgets = { ...UNLIMITED, maximumMinutes: 1 };
    const { result } = await runLoop({ evaluator, patterns: [everyTile], budgets, clockMs: () => nowMs });
    expect(result).toMatchObject({ stopReason: 'time-spent', evaluationsUsed: 2 });
  });

  test('no-moves-left, without findings and with every move tried', async () => {
    const nothing = scriptedEvaluator({ '*': { findings: [] } });
    expect((await runLoop({ evaluator: nothing, patterns: [everyTile] })).result.stopReason).toBe('no-moves-left');
    const twoMoves = pattern('tiles', 'bank-conflicts', [tile(16), tile(64)]);
    const tried = scriptedEvaluator({ '*': { ns: 1000 } });
    const { result } = await runLoop({ evaluator: tried, patterns: [twoMoves] });
    expect(result).toMatchObject({ stopReason: 'no-moves-left', evaluationsUsed: 3 });
  });

  test('start-failed, with the reason', async () => {
    const evaluator = scriptedEvaluator({ '*': { status: 'wrong', reason: '3 of 8 elements are wrong' } });
    const { result, events } = await runLoop({ evaluator, patterns: [everyTile] });
    expect(result).toMatchObject({ stopReason: 'start-failed', evaluationsUsed: 1 });
    expect(result.detail).toContain('3 of 8 elements are wrong');
    expect(result.best).toBeUndefined();
    expect(ofType(events, 'run-finished')).toMatchObject([{ stopReason: 'start-failed', best: null, speedup: null }]);
  });

  test('a start without a valid time is no start', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: Number.NaN } });
    expect((await runLoop({ evaluator, patterns: [everyTile] })).result.stopReason).toBe('start-failed');
  });

  test('device-failed: at the start at once, later after two in a row, never held against the move', async () => {
    const atStart = scriptedEvaluator({ '*': { status: 'device-failed', reason: 'a worker died' } });
    expect((await runLoop({ evaluator: atStart })).result.stopReason).toBe('device-failed');
    let failures = 0;
    const flaky = scriptedEvaluator((name) => {
      if (name === '01_first TILE=16' && failures < 1) {
        failures += 1;
        return { status: 'device-failed' };
      }
      return { ns: name === '01_first TILE=16' ? 500 : 1000 };
    });
    const recovered = await runLoop({ evaluator: flaky, patterns: [everyTile] });
    expect(recovered.result.best?.candidate.parameters).toEqual({ TILE: 16 });
    const dead = scriptedEvaluator((name) =>
      name === '01_first TILE=32' ? { ns: 1000 } : { status: 'device-failed' },
    );
    const gone = await runLoop({ evaluator: dead, patterns: [everyTile] });
    expect(gone.result).toMatchObject({ stopReason: 'device-failed', evaluationsUsed: 3 });
    expect(gone.result.best?.evaluation.id).toBe('e1');
  });

  test('interrupted: the best so far is kept, even if the evaluator hangs', async () => {
    const controller = new AbortController();
    const evaluator = scriptedEvaluator((name) => {
      if (name === '01_first TILE=32') return { ns: 1000 };
      if (name === '01_first TILE=16') return { ns: 500 };
      queueMicrotask(() => controller.abort());
      return new Promise(() => {});
    });
    const { result, events } = await runLoop({ evaluator, patterns: [everyTile], signal: controller.signal });
    expect(result).toMatchObject({ stopReason: 'interrupted', speedup: 2 });
    expect(events.at(-1)).toMatchObject({ type: 'run-finished', stopReason: 'interrupted', best: 'e2' });
  });

  test('interrupted before the start was judged', async () => {
    const evaluator = scriptedEvaluator({ '*': {} });
    const { result } = await runLoop({ evaluator, signal: AbortSignal.abort() });
    expect(result).toMatchObject({ stopReason: 'interrupted', evaluationsUsed: 0 });
    expect(evaluator.judged).toEqual([]);
  });

  test("an evaluator's bug is not swallowed, and ends the log as failed", async () => {
    const evaluator = scriptedEvaluator(() => {
      throw new TypeError('a bug');
    });
    const events: unknown[] = [];
    const run = runLoop({ evaluator, rungs: [kernel('01_first')], emit: (event) => void events.push(event) });
    await expect(run).rejects.toThrow('a bug');
    expect(events.at(-1)).toMatchObject({ type: 'run-finished', stopReason: 'failed' });
  });

  test('the order of checks: a goal reached beats nearness to the bound', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 100, attainableNs: 99, findings: [finding('latency-bound')] } });
    const { result } = await runLoop({ evaluator, goal: parseGoal('200ns') });
    expect(result.stopReason).toBe('goal-reached');
  });
});
