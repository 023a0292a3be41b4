import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { onSlowRun, type SlowRun, watchRun } from '../../../../src/evaluation/oracle/reference-process/slow-runs.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('tells of a run when it has taken long, twice as long, four times as long, and no more once it has ended', () => {
  const told: SlowRun[] = [];
  const forget = onSlowRun((run) => told.push(run));
  const run = watchRun({ problem: 'gemm', dimensions: { M: 1 } }, 10);
  vi.advanceTimersByTime(9);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(36);
  expect(told).toEqual([10, 20, 40].map((elapsedMs) => ({ problem: 'gemm', dimensions: { M: 1 }, elapsedMs })));
  run[Symbol.dispose]();
  vi.advanceTimersByTime(1000);
  expect(told).toHaveLength(3);
  forget();
});

it('tells of runs for one shape once, and until the last of them has ended', () => {
  const told: number[] = [];
  const forget = onSlowRun(({ elapsedMs }) => told.push(elapsedMs));
  const runs = [1, 1, 2].map((M) => watchRun({ problem: 'gemm', dimensions: { M } }, 10));
  vi.advanceTimersByTime(10);
  expect(told).toEqual([10, 10]);
  runs[0]![Symbol.dispose]();
  runs[2]![Symbol.dispose]();
  vi.advanceTimersByTime(10);
  expect(told).toEqual([10, 10, 20]);
  runs[1]![Symbol.dispose]();
  vi.advanceTimersByTime(1000);
  expect(told).toHaveLength(3);
  forget();
});

it('tells once of what is past when the process was stopped for a while', () => {
  const told: number[] = [];
  const forget = onSlowRun(({ elapsedMs }) => told.push(elapsedMs));
  const now = vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValueOnce(0).mockReturnValue(1000);
  const run = watchRun({ problem: 'gemm', dimensions: { M: 1 } }, 10);
  vi.advanceTimersByTime(10);
  expect(told).toEqual([1000]);
  vi.advanceTimersByTime(999);
  expect(told).toEqual([1000]);
  vi.advanceTimersByTime(1);
  expect(told).toHaveLength(2);
  now.mockRestore();
  run[Symbol.dispose]();
  forget();
});
