import { describe, expect, test } from 'vitest';
import { WarpsmithError } from '../../src/core/errors.ts';
import { parseGoal } from '../../src/optimizer/goal.ts';
import type { RunEvent } from '../../src/store/events.ts';
import { runLoop, scriptedEvaluator } from './fakes.ts';

describe('parseGoal', () => {
  test.each([
    ['2x', { kind: 'speed-up', ratio: 2 }],
    ['1.5×', { kind: 'speed-up', ratio: 1.5 }],
    ['50us', { kind: 'time', ns: 50_000 }],
    ['50µs', { kind: 'time', ns: 50_000 }],
    ['1.5ms', { kind: 'time', ns: 1_500_000 }],
    ['800ns', { kind: 'time', ns: 800 }],
  ])('%s', (text, goal) => {
    expect(parseGoal(text)).toEqual({ ...goal, text });
  });

  test.each(['', 'fast', '2', '0x', '-2x', '50 parsecs', 'NaNx', '1e3us'])('refuses "%s"', (text) => {
    expect(() => parseGoal(text)).toThrow(WarpsmithError);
  });
});

const vetoBound = { ns: 600, arithmetic: '600 FLOP ÷ 1 TFLOP/s = 600 ns' };

describe('a goal below the veto bound', () => {
  test('a time is refused before anything is evaluated, with the arithmetic', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const run = runLoop({ evaluator, vetoBound, goal: parseGoal('500ns') });
    await expect(run).rejects.toMatchObject({
      exitCode: 2,
      details: { code: 'goal-below-bound', received: '500ns = 500 ns', expected: 'at least 600 ns' },
    });
    await expect(run).rejects.toThrow('600 FLOP ÷ 1 TFLOP/s');
    expect(evaluator.judged).toEqual([]);
  });

  test("a speed-up is refused as soon as the start's time is known", async () => {
    const events: RunEvent[] = [];
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const run = runLoop({ evaluator, vetoBound, goal: parseGoal('2x'), emit: (event) => void events.push(event) });
    await expect(run).rejects.toThrow("the start's 1 µs ÷ 2 = 500 ns is below the bound of 600 ns");
    expect(evaluator.judged).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'run-finished', stopReason: 'goal-refused', best: null });
  });

  test('a goal at the bound is allowed', async () => {
    const evaluator = scriptedEvaluator({ '*': { ns: 1000 } });
    const { result } = await runLoop({ evaluator, vetoBound, goal: parseGoal('600ns') });
    expect(result.stopReason).toBe('no-moves-left');
  });
});
