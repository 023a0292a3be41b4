import { describe, expect, it } from 'vitest';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { createBudget } from '../../src/optimizer/budget.ts';
import { type Budgets, NOTHING_KEPT, UNLIMITED } from '../../src/store/events.ts';
import { CUDA, fakeGpu } from './fake-gpu.ts';
import { ofType, pattern, runLoop, scriptedEvaluator, tile } from './fakes.ts';

const VIRTUAL = { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' } as const;
const HOUR_MS = 3_600_000;

const spent = (device: Evaluation['device'], elapsedMs: Evaluation['elapsedMs']): Evaluation => ({
  schemaVersion: 1,
  id: 'e1',
  candidate: { id: 'c', kernel: 'k', folder: 'f', parameters: {} },
  device,
  workload: { name: 'n', dimensions: {} },
  status: 'passed',
  findings: [],
  elapsedMs,
});

const phases = { compile: 1_000, verify: 2_000, time: 3_000, total: 10_000 };
const budgetOf = (limits: Partial<Budgets> = {}, clockMs = () => 0) =>
  createBudget({ ...UNLIMITED, ...limits, allowance: limits.allowance ?? NOTHING_KEPT }, clockMs);

describe('the ledger', () => {
  it('adds up the phases, and on a GPU whatever is not compiling: profiling and sanitizing too', () => {
    const budget = budgetOf();
    budget.spend(spent(CUDA, phases));
    budget.spend(spent(CUDA, phases));
    expect(budget.ledger).toEqual({ compileMs: 2_000, verifyMs: 4_000, timeMs: 6_000, gpuMs: 18_000, money: null });
    expect(budget.evaluationsUsed).toBe(2);
  });

  it('counts no GPU time on a virtual device', () => {
    const budget = budgetOf({ gpuPricePerHour: 7, maximumGpuMinutes: 0.001, maximumMoney: 0.001 });
    budget.spend(spent(VIRTUAL, phases));
    expect(budget.ledger).toEqual({ compileMs: 1_000, verifyMs: 2_000, timeMs: 3_000, gpuMs: 0, money: 0 });
    expect(budget.spent()).toBeUndefined();
  });

  it('never counts less than nothing where phases overlap', () => {
    const budget = budgetOf();
    budget.spend(spent(CUDA, { ...phases, compile: 12_000 }));
    expect(budget.ledger.gpuMs).toBe(0);
  });

  it('says money as hours × price', () => {
    const budget = budgetOf({ gpuPricePerHour: 3 });
    budget.spend(spent(CUDA, { compile: 0, verify: 0, time: 0, total: HOUR_MS / 2 }));
    expect(budget.ledger.money).toBe(1.5);
  });

  it('is logged after each decision of a run, as it stands then', async () => {
    const { events } = await runLoop({
      device: CUDA,
      evaluator: fakeGpu({ ns: {}, elapsedMs: phases }),
      patterns: [pattern('tiles', 'bank-conflicts', [tile(64)])],
      budgets: { ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 3, gpuPricePerHour: 3600 },
      clockMs: () => 0,
    });
    // The second is screened, then measured for a verdict.
    expect(ofType(events, 'budget').map(({ ledger, evaluationsUsed }) => [evaluationsUsed, ledger])).toEqual([
      [1, { compileMs: 1_000, verifyMs: 2_000, timeMs: 3_000, gpuMs: 9_000, money: 9 }],
      [3, { compileMs: 3_000, verifyMs: 6_000, timeMs: 9_000, gpuMs: 27_000, money: 27 }],
    ]);
  });
});

describe('a limit', () => {
  it.each([
    [{ maximumEvaluations: 2 }, 'evaluations-spent', 2],
    [{ maximumGpuMinutes: 0.45 }, 'gpu-time-spent', 3],
    [{ maximumMoney: 36, gpuPricePerHour: 3600 }, 'money-spent', 4],
  ] as const)('%o is spent when it is reached, not before', (limits, reason, evaluations) => {
    const budget = budgetOf(limits);
    for (let i = 0; i < evaluations; i += 1) {
      expect(budget.spent()).toBeUndefined();
      budget.spend(spent(CUDA, phases));
    }
    expect(budget.spent()?.reason).toBe(reason);
  });

  it('in minutes counts from when the budget was made', () => {
    let nowMs = 5 * 60_000;
    const budget = budgetOf({ maximumMinutes: 2 }, () => nowMs);
    nowMs += 119_999;
    expect(budget.spent()).toBeUndefined();
    nowMs += 1;
    expect(budget.spent()).toEqual({ reason: 'time-spent', detail: '2.0 of 2 minutes used' });
    expect(budget.minutesUsed()).toBe(2);
  });

  it('is taken back by a larger one, and what was spent stays spent', () => {
    const budget = budgetOf({ maximumEvaluations: 1 });
    budget.spend(spent(CUDA, phases));
    expect(budget.evaluationsLeft).toBe(0);
    expect(budget.spent()?.reason).toBe('evaluations-spent');
    budget.extend({ ...UNLIMITED, allowance: NOTHING_KEPT, maximumEvaluations: 3, gpuPricePerHour: 3600 });
    expect(budget.spent()).toBeUndefined();
    expect(budget.evaluationsLeft).toBe(2);
    expect(budget.ledger.money).toBe(9);
  });

  it('is none where there is none', () => {
    const budget = budgetOf();
    for (let i = 0; i < 1000; i += 1) budget.spend(spent(CUDA, { ...phases, total: HOUR_MS }));
    expect(budget.spent()).toBeUndefined();
    expect(budget.evaluationsLeft).toBeNull();
  });
});

it('a run without limits ends for another reason', async () => {
  const { result, events } = await runLoop({ evaluator: scriptedEvaluator({ '*': { ns: 1000 } }), budgets: UNLIMITED });
  expect(result.stopReason).toBe('no-moves-left');
  expect(ofType(events, 'budget')[0]).toMatchObject({ evaluationsLeft: null, minutesLeft: null });
});
