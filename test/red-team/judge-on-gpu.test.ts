import { describe, expect, it } from 'vitest';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { Verdict } from './expected.ts';
import { disagreementsWith, stageOf } from './judge-on-gpu.ts';

type Ended = Parameters<typeof disagreementsWith>[1];

const ended = (status: Evaluation['status'], more: Partial<Ended> & { timeMs?: number } = {}): Ended => {
  const { timeMs = 0, ...rest } = more;
  return { status, elapsedMs: { compile: 1, verify: 1, time: timeMs, total: 2 + timeMs }, ...rest };
};
const sanitized = (outcome: 'clean' | 'errors' | 'unsanitized') => ({
  sanitizer: { outcome, version: null, tools: [] },
});

describe('the stage that saw through a kernel', () => {
  it('is the one in which the evaluation ended, or the sanitizer', () => {
    expect(stageOf(ended('wrong'))).toBe('verification');
    expect(stageOf(ended('wrong', { timeMs: 5 }))).toBe('measurement');
    expect(stageOf(ended('passed', { timeMs: 5, ...sanitized('errors') }))).toBe('sanitizer');
  });

  it('is none where the kernel passed and no tool found anything', () => {
    for (const outcome of ['clean', 'unsanitized'] as const)
      expect(stageOf(ended('passed', { timeMs: 5, ...sanitized(outcome) }))).toBeUndefined();
    expect(stageOf(ended('passed', { timeMs: 5 }))).toBeUndefined();
  });
});

describe('what is not as it must be of a red-team kernel', () => {
  const verdict: Verdict = {
    ...{ statuses: ['wrong'], reason: /poison/, caughtBy: ['verification'], workload: '', thorough: false },
  };

  it('is nothing when status, stage and reason are right', () => {
    expect(disagreementsWith(verdict, ended('wrong', { reason: 'still poison' }))).toEqual([]);
  });

  it('is a status, a stage or a reason that differs', () => {
    expect(disagreementsWith(verdict, ended('unsafe', { reason: 'poison' }))).toEqual(['it is unsafe, not wrong']);
    expect(disagreementsWith(verdict, ended('wrong', { reason: 'poison', timeMs: 1 }))).toEqual([
      'caught by measurement, not verification',
    ]);
    expect(disagreementsWith(verdict, ended('wrong', { reason: 'other' }))).toEqual([
      'the reason does not match /poison/',
    ]);
    expect(disagreementsWith(verdict, ended('wrong'))).toHaveLength(1);
  });

  it('is a kernel that passes with nothing found, even where passing is allowed', () => {
    const lenient: Verdict = { ...verdict, statuses: ['wrong', 'passed'], caughtBy: ['sanitizer'] };
    expect(disagreementsWith(lenient, ended('passed', { timeMs: 1 }))).toEqual(['caught by nothing, not sanitizer']);
    expect(disagreementsWith(lenient, ended('passed', { timeMs: 1, ...sanitized('errors') }))).toEqual([]);
  });
});
