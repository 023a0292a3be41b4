import { describe, expect, it } from 'vitest';
import { emptyTotals } from '../../src/core/empty-totals.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { feedbackOf, feedbackText, LONGEST_FEEDBACK } from '../../src/reports/feedback.ts';

const evaluation = (changes: Partial<Evaluation> = {}): Evaluation => ({
  schemaVersion: 1,
  id: 'e0',
  candidate: { id: 'abc', kernel: 'mine', folder: 'submission', parameters: {} },
  device: { id: 'virtual:l4', kind: 'virtual', name: 'NVIDIA L4 (virtual)' },
  workload: { name: 'square', dimensions: { R: 4 } },
  seed: 123456789,
  status: 'passed',
  findings: [],
  elapsedMs: { compile: 100, verify: 900, time: 0, total: 1000 },
  ...changes,
});

const timing = (medianNs: number): Evaluation['timing'] => ({
  kind: 'predicted',
  medianNs,
  intervalNs: [medianNs / 2, 2 * medianNs],
  vetoNs: 10,
  attainableNs: 100,
  bindingResource: 'l1',
});

const counters = (globalLoadSectors: number): Evaluation['counters'] => {
  const totals = { ...emptyTotals(), globalLoadSectors };
  return { ...totals, totals, launches: [] };
};

describe('feedback', () => {
  it('says what changed against the parent, and scores the prediction', () => {
    const feedback = feedbackOf({
      evaluation: evaluation({ timing: timing(500), counters: counters(250) }),
      parent: evaluation({ timing: timing(1000), counters: counters(1000) }),
      ratioToParent: 2,
      ratioToStart: 4,
      predictedRatio: 3,
    });
    expect(feedback.counters).toEqual(['global load sectors 1,000 → 250 (×0.25)']);
    expect(feedback.prediction).toBe(
      'hoped 3.00×, got 2.00×: short by 1.50×; most changed: global load sectors 1,000 → 250 (×0.25)',
    );
    expect(feedback.bounds[0]).toBe('lower bound 10 ns; attainable 100 ns: 20 % reached');
    expect(feedback.notChecked).toContain('predicted by a model, not measured');
    expect(feedbackText(feedback)).toContain('2.00× the speed of its parent; 4.00× the speed of the start');
  });

  it('warns of results that came near their tolerance', () => {
    const passed = (error: number): Evaluation =>
      evaluation({
        correctness: {
          checksRun: 3,
          maxAbsoluteError: error,
          nearest: { output: 'Y', index: [2, 5], got: 1, want: 1 + error, error, tolerance: 1e-3, check: 'R=4' },
        } as unknown as Evaluation['correctness'],
      });
    expect(feedbackText(feedbackOf({ evaluation: passed(9e-4) }))).toContain(
      'accuracy: Y[2, 5] errs by 90 % of its tolerance; on other inputs it may be too much',
    );
    expect(feedbackOf({ evaluation: passed(4e-4) }).accuracy).toBeUndefined();
  });

  it.each([
    [1.03, 0.94, 'short by 1.10×'],
    [1.12, 1.03, 'short by 1.09×'],
    [1.04, 1.05, 'right'],
    [2, 1.9, 'right'],
    [1.5, 2.5, 'better by 1.67×'],
  ])('of a hoped gain of %s, %s is %s', (predictedRatio, ratioToParent, judged) => {
    const { prediction } = feedbackOf({
      evaluation: evaluation({ timing: timing(500) }),
      predictedRatio,
      ratioToParent,
    });
    expect(prediction).toContain(`: ${judged};`);
  });

  it('never tells the seed', () => {
    const feedback = feedbackOf({ evaluation: evaluation({ timing: timing(500) }) });
    expect(JSON.stringify(feedback) + feedbackText(feedback)).not.toContain('123456789');
  });

  it('gives no time and no ratio of a kernel that is wrong', () => {
    const feedback = feedbackOf({
      evaluation: evaluation({ status: 'wrong', reason: 'Y[0] = 1, wanted 2', failedCheck: 'R=4', timing: timing(5) }),
      predictedRatio: 2,
    });
    expect(feedback).toMatchObject({
      status: 'wrong',
      why: 'Y[0] = 1, wanted 2',
      where: ['found by: R=4'],
      time: undefined,
    });
    expect(feedback.prediction).toBe('hoped 2.00×; there is no ratio to hold it against');
  });

  it('stays short, whatever there is to say', () => {
    const long = 'word '.repeat(2000);
    const finding = { id: 'a', title: long, estimatedSpeedup: 2, arithmetic: long, evidence: [], advice: long };
    const text = feedbackText(
      feedbackOf({
        evaluation: evaluation({
          reason: long,
          timing: timing(5),
          findings: Array(20).fill(finding),
          diagnostics: Array(50).fill({ severity: 'error', message: long }),
        }),
      }),
    );
    expect(text.length).toBeLessThanOrEqual(LONGEST_FEEDBACK + 50);
  });
});
