import { expect, it } from 'vitest';
import type { Evaluation, OneWayCondition } from '../../src/core/evaluation.ts';
import { refusingUnreached } from '../../src/core/unreached.ts';

const condition = (more: Partial<OneWayCondition>): OneWayCondition => ({
  ...{ place: { file: 'kernel.cu', line: 31 }, text: 'if (variance > 1e8f) {', kind: 'comparison', was: 'never-true' },
  ...more,
});

const passed = (...oneWay: OneWayCondition[]): Evaluation =>
  ({ status: 'passed', coverage: { conditions: { count: 9, libraryDecisions: 0, oneWay } } }) as unknown as Evaluation;

it('a kernel that passed is unverified if a condition on loaded values went one way in every check', () => {
  const { status, reason } = refusingUnreached(
    passed(condition({ isOfValues: true }), condition({ isOfValues: true, was: 'never-false' })),
  );
  expect(status).toBe('unverified');
  expect(reason).toBe(
    'a condition on loaded values went one way in every check, so what it guards was not verified: kernel.cu:31 `if (variance > 1e8f) {` was never true (and 1 more); ' +
      'do without it, or add a generator set that meets it to problem.json',
  );
});

it('so it is if a number that is computed of loaded values never varied', () => {
  const constantResults = [{ place: { file: 'kernel.cu', line: 19 }, text: 'y[i] += __clz(h) >> 5;', always: '0x0' }];
  const evaluation = {
    status: 'passed',
    coverage: { conditions: { count: 9, libraryDecisions: 0, oneWay: [], constantResults } },
  } as unknown as Evaluation;
  expect(refusingUnreached(evaluation)).toMatchObject({
    status: 'unverified',
    reason: expect.stringMatching(
      /^a number computed of loaded values never varied, .*: kernel\.cu:19 `y\[i\] \+= __clz\(h\) >> 5;` gave 0x0 for all inputs;/,
    ),
  });
});

it('a condition of sizes, one behind another, and what did not pass change nothing', () => {
  const ofSizes = passed(condition({}));
  const behind = passed(condition({ isOfValues: true, was: 'never-reached' }));
  const wrong = { ...passed(condition({ isOfValues: true })), status: 'wrong' } as Evaluation;
  for (const evaluation of [ofSizes, behind, wrong, passed(), { status: 'passed' } as Evaluation])
    expect(refusingUnreached(evaluation)).toBe(evaluation);
});
