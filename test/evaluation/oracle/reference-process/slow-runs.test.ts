import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { onSlowRun, type SlowRun, watchRun } from '../../../../src/evaluation/oracle/reference-process/slow-runs.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('tells of a run when it has taken long, twice as long, four times as long, and no more once it has ended', () => {
  const told: SlowRun[] = [];
  const forget = onSlowRun((run) => told.push(run));
  const unwatch = watchRun({ problem: 'gemm', dimensions: { M: 1 } }, 10);
  vi.advanceTimersByTime(9);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(36);
  expect(told).toEqual([10, 20, 40].map((elapsedMs) => ({ problem: 'gemm', dimensions: { M: 1 }, elapsedMs })));
  unwatch();
  vi.advanceTimersByTime(1000);
  expect(told).toHaveLength(3);
  forget();
});
