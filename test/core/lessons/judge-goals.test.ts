import { describe, expect, it } from 'vitest';
import { emptyTotals } from '../../../src/core/empty-totals.ts';
import type { Evaluation } from '../../../src/core/evaluation.ts';
import type { Finding } from '../../../src/core/finding.ts';
import { comparesWithStart, judgeGoals } from '../../../src/core/lessons/judge-goals.ts';
import type { LessonGoal } from '../../../src/core/lessons/lesson.ts';
import { parseLessonFile } from '../../../src/core/schemas/parse-files.ts';

const finding: Finding = {
  ...{ id: 'bank-conflicts', title: 'conflicts', estimatedSpeedup: 2, arithmetic: '', evidence: [], advice: 'pad' },
};

const evaluation = (requests: number, sectors: number, medianNs: number, findings: Finding[] = []): Evaluation =>
  ({
    findings,
    timing: { kind: 'predicted', medianNs },
    counters: { totals: { ...emptyTotals(), globalLoadRequests: requests, globalLoadSectors: sectors }, launches: [] },
  }) as unknown as Evaluation;

const judged = (goal: LessonGoal, mine: Evaluation, start?: Evaluation) =>
  judgeGoals({ goals: [goal] }, mine, start)[0]!;

describe('a goal', () => {
  const sectors: LessonGoal = { kind: 'figure', figure: 'sectors-per-load', atMost: 4.5 };

  it('is a limit on a figure', () => {
    expect(judged(sectors, evaluation(10, 45, 1))).toMatchObject({ holds: true, value: 4.5, limit: 4.5 });
    expect(judged(sectors, evaluation(10, 46, 1))).toMatchObject({ holds: false, value: 4.6 });
    const least: LessonGoal = { kind: 'figure', figure: 'sectors-per-load', atLeast: 4.5 };
    expect(judged(least, evaluation(10, 44, 1)).holds).toBe(false);
    expect(judged(least, evaluation(10, 45, 1)).holds).toBe(true);
  });

  it('is met by a kernel that does none of it, if less is better', () => {
    expect(judged(sectors, evaluation(0, 0, 1))).toMatchObject({ holds: true, value: undefined });
    expect(judged({ kind: 'figure', figure: 'sectors-per-load', atLeast: 1 }, evaluation(0, 0, 1)).holds).toBe(false);
  });

  it('may be a multiple of what the start has, and fails without a start', () => {
    const time: LessonGoal = { kind: 'figure', figure: 'time', atMost: 0.5, ofStart: true };
    expect(judged(time, evaluation(1, 1, 50), evaluation(1, 1, 100))).toMatchObject({ holds: true, limit: 50 });
    expect(judged(time, evaluation(1, 1, 51), evaluation(1, 1, 100)).holds).toBe(false);
    expect(judged(time, evaluation(1, 1, 0)).holds).toBe(false);
    expect([comparesWithStart({ goals: [time] }), comparesWithStart({ goals: [sectors] })]).toEqual([true, false]);
  });

  it('may be a finding that is gone', () => {
    const gone: LessonGoal = { kind: 'no-finding', finding: 'bank-conflicts' };
    expect(judged(gone, evaluation(1, 1, 1)).holds).toBe(true);
    expect(judged(gone, evaluation(1, 1, 1, [finding]))).toMatchObject({ holds: false, finding: { advice: 'pad' } });
  });
});

describe('lesson.json', () => {
  const lesson = (goal: object) =>
    JSON.stringify({
      ...{ schemaVersion: 1, name: '01_a', title: 'A', idea: 'B', device: 'virtual:l4', workload: 'w' },
      ...{ shown: ['time'], goals: [goal] },
    });

  it('names a figure with one limit', () => {
    expect(parseLessonFile(lesson({ kind: 'figure', figure: 'time', atMost: 1 }), 'f').goals).toHaveLength(1);
    for (const limits of [{}, { atMost: 1, atLeast: 1 }])
      expect(() => parseLessonFile(lesson({ kind: 'figure', figure: 'time', ...limits }), 'f')).toThrow();
    expect(() => parseLessonFile(lesson({ kind: 'figure', figure: 'tmie', atMost: 1 }), 'f')).toThrow();
    expect(() => parseLessonFile(lesson({ kind: 'no-finding', finding: 'nothing' }), 'f')).toThrow();
  });
});
