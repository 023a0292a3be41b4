import { expect, it } from 'vitest';
import type { Evaluation, OneWayCondition } from '../../src/core/evaluation.ts';
import { NEVER_RAN, refusingUnreached } from '../../src/core/unreached.ts';

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
    'a condition on loaded values went one way in every check: kernel.cu:31 `if (variance > 1e8f) {` was never true (and 1 more), ' +
      'so what depends on it was not verified; do without it, or let problem.json have a check shape or a generator set that meets it',
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
      /^a number computed of loaded values never varied: kernel\.cu:19 `y\[i\] \+= __clz\(h\) >> 5;` gave 0x0 for all inputs, so /,
    ),
  });
});

it('so it is if a condition on sizes went one way, and if a step never ran', () => {
  const ofSizes = refusingUnreached(passed(condition({ isOfLaunch: true })));
  expect(ofSizes.status).toBe('unverified');
  expect(ofSizes.reason).toMatch(
    /^a condition on sizes or other arguments went one way in every check: kernel\.cu:31 /,
  );
  const leftOut = [{ check: 'steps that launch tail', reason: 'their `when` was 0 in every check', code: NEVER_RAN }];
  const neverRan = refusingUnreached({ status: 'passed', coverage: { leftOut } } as unknown as Evaluation);
  expect(neverRan).toMatchObject({
    status: 'unverified',
    reason: expect.stringMatching(/^steps that launch tail: their `when` was 0 in every check, so /),
  });
});

it('so it is if a condition on a clock went one way, unless it asks whether a loop has another round', () => {
  const ofChance = refusingUnreached(passed(condition({ isOfChance: true })));
  expect(ofChance.status).toBe('unverified');
  expect(ofChance.reason).toMatch(/^a condition on a clock, or on where a thread runs, went one way in every check: /);
  const round = passed(condition({ isOfChance: true, isLoopTest: true }));
  expect(refusingUnreached(round)).toBe(round);
});

it('so it is if an expression of kernel.json came out one way', () => {
  const ofLaunches = [{ path: 'steps[0].grid[0]', text: 'min(N, 4096)', never: '4096' }];
  const evaluation = {
    status: 'passed',
    coverage: { conditions: { count: 0, libraryDecisions: 0, oneWay: [], ofLaunches } },
  };
  expect(refusingUnreached(evaluation as unknown as Evaluation)).toMatchObject({
    status: 'unverified',
    reason: expect.stringMatching(
      /^a launch came out one way in every check: kernel\.json steps\[0\]\.grid\[0\]: `min\(N, 4096\)` was never 4096, so /,
    ),
  });
});

it('what honest kernels have changes nothing: what the compiler moved, another round, other threads, what lies behind', () => {
  const near = passed(condition({ isOfLaunch: true, isNear: true }));
  const round = passed(condition({ isOfLaunch: true, isLoopTest: true }));
  const untold = passed(condition({ isOfLaunch: true, was: 'one-way' }));
  const ofOthers = passed(condition({}));
  const infinite = passed(condition({ isOfValues: true, isOfInfinity: true }));
  const behind = passed(condition({ isOfValues: true, was: 'never-reached' }));
  const wrong = { ...passed(condition({ isOfValues: true })), status: 'wrong' } as Evaluation;
  for (const evaluation of [
    near,
    round,
    untold,
    ofOthers,
    infinite,
    behind,
    wrong,
    passed(),
    { status: 'passed' } as Evaluation,
  ])
    expect(refusingUnreached(evaluation)).toBe(evaluation);
});
